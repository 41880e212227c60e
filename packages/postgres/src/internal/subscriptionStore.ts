/** Subscriptions: one row per application until it is removed. Identifiers are never used twice. */
import { ApplicationNotFound } from "@startlist/core/Application"
import { Conflict } from "@startlist/core/Store"
import { AlreadySubscribed, type SubscriptionStore } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import { locks } from "./divided.ts"
import { type Int8, millisOf } from "./rows.ts"
import { subscriptionColumns, type SubscriptionRow, toSubscription } from "./subscriptionRows.ts"

export const make = (database: Database.Service): SubscriptionStore.Service => {
  const { prefix: p, query, transaction } = database
  const { alone } = locks(database)
  const find = {
    name: `${p}subscription_find`,
    text: `SELECT ${subscriptionColumns} FROM ${p}subscriptions s WHERE s.application_id = $1::bigint`
  }
  const list = {
    name: `${p}subscription_list`,
    text:
      `SELECT ${subscriptionColumns} FROM ${p}subscriptions s WHERE s.id < $1::bigint ORDER BY s.id DESC LIMIT $2::integer`
  }
  // Waits for a save that ends the application, and lets it wait. Citus locks its rows only with a change.
  const lock = {
    name: `${p}subscription_application`,
    text: `UPDATE ${p}applications SET version = version WHERE id = $1::bigint AND state <> 'e' RETURNING id`
  }
  const insert = {
    name: `${p}subscription_insert`,
    text: `INSERT INTO ${p}subscriptions AS s
        (application_id, version, callback_url, created_at, updated_at)
      VALUES ($1::bigint, 1, $2::text, $3::bigint, $4::bigint)
      ON CONFLICT (application_id) DO NOTHING RETURNING ${subscriptionColumns}`
  }
  const save = {
    name: `${p}subscription_save`,
    text: `UPDATE ${p}subscriptions SET version = $3::integer, callback_url = $4::text, updated_at = $5::bigint,
        paused = $6::boolean
      WHERE application_id = $1::bigint AND id = $2::bigint AND version = $3::integer - 1 RETURNING id`
  }
  const remove = {
    name: `${p}subscription_remove`,
    text: `DELETE FROM ${p}subscriptions WHERE id = $1::bigint RETURNING application_id`
  }
  const cancel = {
    name: `${p}subscription_cancel`,
    text: `UPDATE ${p}deliveries SET state = 'c', ended_at = $2::bigint, claim_token = NULL, lease_ends = NULL
      WHERE application_id = $3::bigint AND id = ANY (ARRAY(
        SELECT id FROM ${p}deliveries
        WHERE application_id = $3::bigint AND subscription_id = $1::bigint AND state = 'p' ORDER BY id FOR UPDATE
      )) AND state = 'p'`
  }
  return {
    findByApplication: (id) =>
      Effect.flatMap(
        query<SubscriptionRow>(find, [id]),
        ([row]) => Effect.succeed(Option.map(Option.fromNullable(row), toSubscription))
      ),
    insert: ({ applicationId, callbackUrl, createdAt, updatedAt }) =>
      transaction(Effect.gen(function*() {
        const [application] = yield* query(lock, [applicationId])
        if (application === undefined) return yield* new ApplicationNotFound({ applicationId })
        const given = [applicationId, callbackUrl, millisOf(createdAt), millisOf(updatedAt)]
        const [row] = yield* query<SubscriptionRow>(insert, given)
        return row === undefined ? yield* new AlreadySubscribed() : toSubscription(row)
      })),
    list: ({ after, limit }) =>
      Effect.map(
        query<SubscriptionRow>(list, [Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER), limit]),
        (rows) => rows.map(toSubscription)
      ),
    save: ({ applicationId, callbackUrl, id, paused, updatedAt, version }) =>
      Effect.flatMap(
        query(save, [applicationId, id, version, callbackUrl, millisOf(updatedAt), paused]),
        (rows) => rows.length === 1 ? Effect.void : new Conflict()
      ),
    // Two statements: the first waits for the saves that are queueing deliveries for this subscription (they hold a lock
    // on its row), and only a later snapshot has their deliveries.
    remove: (id, now) =>
      alone(transaction(
        Effect.flatMap(query<{ readonly application_id: Int8 }>(remove, [id]), ([removed]) =>
          removed === undefined
            ? Effect.succeed(false)
            : Effect.as(query(cancel, [id, millisOf(now), String(removed.application_id)]), true))
      ))
  }
}
