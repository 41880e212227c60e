/** Subscriptions: one row per application until it is removed. Identifiers are never used twice. */
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ApplicationNotFound } from "@startlist/core/Application"
import { maxCancelled } from "@startlist/core/Deliveries"
import type { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { Conflict, type StoreError } from "@startlist/core/Store"
import { AlreadySubscribed, type SubscriptionId, type SubscriptionStore } from "@startlist/core/Subscription"
import type { Database } from "../Database.ts"
import {
  type Int8,
  millisOf,
  subscriptionColumns,
  type SubscriptionRow,
  toApplicationId,
  toSubscription
} from "./rows.ts"

export const make = (database: Database.Service, queue: DeliveryQueue.Service): SubscriptionStore.Service => {
  const { dialect, prefix: p, query, transaction } = database
  const { alone, holding } = dialect.steps(database)
  const find = {
    name: `${p}subscription_find`,
    text: `SELECT ${subscriptionColumns} FROM ${p}subscriptions s WHERE s.application_id = $1::bigint`
  }
  const list = {
    name: `${p}subscription_list`,
    text:
      `SELECT ${subscriptionColumns} FROM ${p}subscriptions s WHERE s.id < $1::bigint ORDER BY s.id DESC LIMIT $2::integer`
  }
  const standing = `${p}applications WHERE id = $1::bigint AND state <> 'e'`
  // A lock on the application waits for a save that ends it, and lets such a save wait.
  const insert = {
    name: `${p}subscription_insert`,
    text: `INSERT INTO ${p}subscriptions AS s (application_id, version, callback_url, created_at, updated_at)
      SELECT id, 1, $2::text, $3::bigint, $4::bigint FROM ${standing} ${dialect.rowLock("FOR NO KEY UPDATE")}
      ON CONFLICT (application_id) DO NOTHING RETURNING ${subscriptionColumns}`
  }
  const findStanding = { name: `${p}subscription_application`, text: `SELECT id FROM ${standing}` }
  const save = {
    name: `${p}subscription_save`,
    text: `UPDATE ${p}subscriptions SET version = $3::integer, callback_url = $4::text, updated_at = $5::bigint,
        paused = $6::boolean, paused_by_operator = $7::boolean
      WHERE application_id = $1::bigint AND id = $2::bigint AND version = $3::integer - 1 RETURNING id`
  }
  const backlog = {
    name: `${p}subscription_backlog`,
    text: `SELECT application_id FROM ${p}deliveries
      WHERE application_id = (SELECT application_id FROM ${p}subscriptions WHERE id = $1::bigint) AND state = 'p'
      ORDER BY id DESC OFFSET ${maxCancelled} LIMIT 1`
  }
  const remove = {
    name: `${p}subscription_remove`,
    text: `DELETE FROM ${p}subscriptions WHERE id = $1::bigint RETURNING application_id`
  }
  const cancel = {
    name: `${p}subscription_cancel`,
    text: `UPDATE ${p}deliveries SET state = 'c', ended_at = $2::bigint, claim_token = NULL, lease_ends = NULL
      WHERE ${dialect.ofApplication("$3")}id = ANY (ARRAY(
        SELECT id FROM ${p}deliveries
        WHERE application_id = $3::bigint AND subscription_id = $1::bigint AND state = 'p' ORDER BY id FOR UPDATE
      ))`
  }
  /** Cancels deliveries in parts, until one transaction has time for the others. */
  const shorten = (id: SubscriptionId, now: DateTime.Utc): Effect.Effect<void, StoreError> =>
    Effect.flatMap(query<{ readonly application_id: Int8 }>(backlog, [id]), ([row]) =>
      row === undefined
        ? Effect.void
        : Effect.zipRight(queue.cancel(toApplicationId(row.application_id), now, maxCancelled), shorten(id, now)))
  return {
    findByApplication: (id) =>
      Effect.flatMap(
        query<SubscriptionRow>(find, [id]),
        ([row]) => Effect.succeed(Option.map(Option.fromNullable(row), toSubscription))
      ),
    insert: ({ applicationId, callbackUrl, createdAt, updatedAt }) => {
      const inserted = Effect.gen(function*() {
        const values = [applicationId, callbackUrl, millisOf(createdAt), millisOf(updatedAt)]
        const [row] = yield* query<SubscriptionRow>(insert, values)
        if (row !== undefined) return toSubscription(row)
        const [application] = yield* query(findStanding, [applicationId])
        return yield* application === undefined ? new ApplicationNotFound({ applicationId }) : new AlreadySubscribed()
      })
      return holding(applicationId, inserted)
    },
    list: ({ after, limit }) =>
      Effect.map(
        query<SubscriptionRow>(list, [Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER), limit]),
        (rows) => rows.map(toSubscription)
      ),
    save: ({ applicationId, callbackUrl, id, paused, pausedByOperator, updatedAt, version }) =>
      Effect.flatMap(
        query(save, [applicationId, id, version, callbackUrl, millisOf(updatedAt), paused, pausedByOperator]),
        (rows) => rows.length === 1 ? Effect.void : new Conflict()
      ),
    // If it is interrupted while it shortens a backlog, the subscription stays.
    //
    // Two statements: the first waits for the saves that are queueing deliveries for this subscription (they hold a lock
    // on its row), and only a later snapshot has their deliveries.
    remove: (id, now) =>
      Effect.zipRight(
        shorten(id, now),
        alone(transaction(
          Effect.flatMap(query<{ readonly application_id: Int8 }>(remove, [id]), ([removed]) =>
            removed === undefined
              ? Effect.succeed(false)
              : Effect.as(query(cancel, [id, millisOf(now), String(removed.application_id)]), true))
        ))
      )
  }
}
