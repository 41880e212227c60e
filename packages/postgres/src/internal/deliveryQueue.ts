/** The queue of deliveries: claims, settlements, and new deliveries. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { Claimed, ClaimRequest, DeliveryQueue, Settlement } from "@startlist/core/DeliveryQueue"
import type { Event } from "@startlist/core/Event"
import type { StoreError } from "@startlist/core/Store"
import type { Database, Statement } from "../Database.ts"
import { isJoined, withCaller } from "./statement.ts"
import { withoutKey } from "../Queue.ts"
import type { Claiming, ClaimRow, DeliveryOfClaim, Versions } from "./dialect/Dialect.ts"
import type { Seal } from "../Seal.ts"
import {
  attemptsOf,
  deliveryColumns,
  type DeliveryRow,
  type EventRow,
  type Int8,
  millisOf,
  millisOrNull,
  type SigningRow,
  stateLetters,
  subscriptionColumns,
  type SubscriptionRow,
  toAttempt,
  toDelivery,
  toDeliveryId,
  toEvent,
  toInstant,
  toSigning,
  toSubscription
} from "./rows.ts"
import { holdCopies } from "./personStore.ts"
import {
  eventNames,
  eventTypes,
  insertDeliveries,
  orderingColumns,
  outbox,
  outgoingParameter,
  promoteStatement
} from "./queue.ts"
import { notLogged } from "./deliveryStore.ts"

/** The receiver of claimed deliveries. */
interface Subscribed extends Pick<Claimed, "subscription" | "signingSecrets"> {
  readonly signingVersion: number
}

/** Maximum number of decoded subscriptions in memory: most claims are for the same ones. */
const maxKnown = 4096

/** Maximum number of retries of a claim that found only deliveries of concurrent claims. */
const maxLooks = 3

const byDueAt = ({ delivery: a }: Claimed, { delivery: b }: Claimed): number =>
  a.dueAt.epochMillis - b.dueAt.epochMillis || a.id - b.id

export const make = (database: Database.Service, seal: Seal.Service): DeliveryQueue.Service => {
  const { dialect, isInProcess, prefix: p, query, transaction, wake, wakeUps } = database
  const findSubscriptions = {
    name: `${p}subscription_find_claimed`,
    text: `SELECT ${subscriptionColumns}, a.signing_version, a.signing_secrets
      FROM (SELECT value::bigint AS id FROM json_array_elements_text($1::json)) i
      ${dialect.lookup("subscriptions", "s", "s.application_id = i.id")}
      JOIN ${p}applications a ON a.id = s.application_id`
  }
  const decodeSigning = toSigning(seal)
  const { alone, claim, queueing } = dialect.steps(database)
  const known = new Map<number, Subscribed>()

  const settle = { name: `${p}delivery_settle`, text: `SELECT ${p}settle($1::json) AS recorded` }
  const release = {
    name: `${p}delivery_release`,
    text: `UPDATE ${p}deliveries d SET claim_token = NULL, lease_ends = NULL, claims = d.claims - 1, due_at = $2::bigint
      FROM json_to_recordset($1::json) AS i(id bigint, application_id bigint, token text)
      WHERE d.id = i.id AND d.application_id = i.application_id AND d.claim_token = i.token RETURNING d.id`
  }
  const uncount = {
    name: `${p}delivery_uncount`,
    text: `UPDATE ${p}deliveries SET claims = 0
      WHERE id = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text($1::json))) AND claim_token = $2::text`
  }
  const ours = dialect.ofApplication("$1")
  // Newest first, so that the rest of an ordering key has its head. Rows are locked in the same order as by settling.
  const cancel = {
    name: `${p}delivery_cancel`,
    text: `UPDATE ${p}deliveries SET state = 'c', ended_at = $2::bigint, claim_token = NULL, lease_ends = NULL
      WHERE ${ours}id = ANY (ARRAY(
        SELECT id FROM (
          SELECT id, state FROM ${p}deliveries WHERE ${ours}id = ANY (ARRAY(
            SELECT id FROM ${p}deliveries WHERE application_id = $1::bigint AND state = 'p' ORDER BY id DESC LIMIT $3::integer
          )) ORDER BY id OFFSET 0 FOR UPDATE
        ) d WHERE state = 'p'
      ))
      RETURNING ${orderingColumns.join(", ")}`
  }
  const promote = promoteStatement(dialect)
  const holdDelivery = {
    name: `${p}delivery_hold`,
    text: `SELECT id FROM ${p}deliveries WHERE id = $1::bigint AND application_id = $2::bigint FOR NO KEY UPDATE`
  }
  /** In a later snapshot than the locks, so that of two repeats at the same time the second one sees the first. */
  const findEvent = (only: "always" | "unrepeated" | "latest"): Statement => {
    const isNewer = `n.application_id = d.application_id AND n.subscription_id = d.subscription_id
      AND n.object_type = d.object_type AND n.object_id = d.object_id AND n.sequence > d.sequence`
    const unrepeated = `AND (d.state <> 'd' OR d.log_position IS DISTINCT FROM ${notLogged}) AND NOT EXISTS (
      SELECT FROM ${p}deliveries r WHERE r.application_id = d.application_id AND r.event_id = d.event_id
        AND r.log_position = ${notLogged} AND r.id > d.id
    )`
    const latest = ["d", "p"].map((state) =>
      `AND NOT EXISTS (SELECT FROM ${p}deliveries n WHERE ${isNewer} AND n.state = '${state}')`
    ).join("\n    ")
    return {
      name: `${p}delivery_event_${only}`,
      text: `SELECT ${eventNames} FROM ${p}deliveries d WHERE d.id = $1::bigint AND d.application_id = $2::bigint
    ${only === "always" ? "" : unrepeated} ${only === "latest" ? latest : ""}`
    }
  }
  const again = {
    name: `${p}delivery_again`,
    text: `WITH given AS (
        SELECT * FROM json_to_record($1::json) AS g(
          application_id bigint, subscription_id bigint, due_at bigint, ${eventTypes}
        )
      ),
      subscribed AS MATERIALIZED (
        SELECT s.id FROM ${p}subscriptions s, given g
        WHERE s.application_id = g.application_id AND s.id = g.subscription_id ${dialect.rowLock("FOR KEY SHARE OF s")}
      ),
      targets AS MATERIALIZED (
        SELECT 0 AS number, application_id, subscription_id, ${eventNames}, due_at
        FROM given g WHERE EXISTS (SELECT FROM subscribed)
      ), ${dialect.blockedKeys},
      queued AS (${insertDeliveries(p, notLogged)})
      SELECT ${deliveryColumns} FROM (
        SELECT t.*, queued.id, 'p' AS state, NULL AS ended_at, NULL AS attempts FROM queued, targets t
      ) d`
  }
  const enqueue = {
    name: `${p}delivery_enqueue`,
    text: `WITH given AS (SELECT $1::json AS outgoing), ${outbox(dialect, "given")}
      SELECT id FROM queued ORDER BY id`
  }
  const claimOnce = (request: ClaimRequest): Claiming =>
    withCaller((caller) => claim(request, !isInProcess && !isJoined(caller)))

  const claimLooking = (request: ClaimRequest, looks: number): Effect.Effect<ReadonlyArray<Claimed>, StoreError> =>
    Effect.flatMap(claimOnce(request), (rows) => {
      if (rows.some(({ deliveries }) => deliveries !== null)) {
        const claimed = Effect.forEach(rows, (row) => toClaimed(row, row.deliveries ?? [], request))
        return Effect.map(claimed, (all) => all.flat().sort(byDueAt))
      }
      return rows.some(({ candidates }) => candidates > 0) && looks > 1
        ? claimLooking(request, looks - 1)
        : Effect.succeed([])
    })

  /**
   * The subscriptions of a claim. Decodes only versions that are not in the cache. A subscription whose secrets no key
   * opens does not block others: its deliveries wait until the lease expires, and are claimed again.
   */
  const subscribedBy = (versions: ReadonlyArray<Versions>) =>
    Effect.gen(function*() {
      const found = new Map<number, Subscribed>()
      const missing: Array<number> = []
      for (const [applicationId, id, version, signingVersion] of versions) {
        const last = known.get(id)
        if (last?.subscription.version === version && last.signingVersion === signingVersion) found.set(id, last)
        else missing.push(applicationId)
      }
      if (missing.length === 0) return found
      if (known.size + missing.length > maxKnown) known.clear()
      for (const row of yield* query<SubscriptionRow & SigningRow>(findSubscriptions, [JSON.stringify(missing)])) {
        const secrets = decodeSigning(row)
        if (Either.isRight(secrets)) {
          const subscription = toSubscription(row)
          const subscribed = { subscription, signingSecrets: secrets.right, signingVersion: row.signing_version }
          known.set(subscription.id, subscribed)
          found.set(subscription.id, subscribed)
        } else yield* Effect.logError(`the events of application ${row.application_id} wait`, secrets.left)
      }
      return found
    })

  const toClaimed = (
    { subscriptions }: ClaimRow,
    deliveries: ReadonlyArray<DeliveryOfClaim>,
    { leaseEnds, token }: ClaimRequest
  ) =>
    Effect.gen(function*() {
      const receivers = yield* subscribedBy(subscriptions ?? [])
      // One event for many subscriptions is decoded once.
      const events = new Map<string, Event>()
      const claimed: Array<Claimed> = []
      const waiting: Array<number> = []
      let due = toInstant(0)
      for (const row of deliveries) {
        const receiver = receivers.get(row.subscription_id)
        if (receiver === undefined) {
          waiting.push(row.id)
          continue
        }
        const { signingSecrets, subscription } = receiver
        const event = events.get(row.event_id) ?? toEvent(row)
        events.set(row.event_id, event)
        // Rows are in the order of `due_at`, and many are due at the same time.
        if (due.epochMillis !== row.due_at) due = toInstant(row.due_at)
        const delivery: Claimed["delivery"] = {
          id: toDeliveryId(row.id),
          applicationId: subscription.applicationId,
          subscriptionId: subscription.id,
          event,
          state: "pending",
          attempts: (row.attempts ?? []).map(toAttempt),
          dueAt: due,
          endedAt: Option.none()
        }
        claimed.push({ delivery, subscription, signingSecrets, token, leaseEnds, claims: row.claims })
      }
      // These wait for a key. Do not count their claims.
      if (waiting.length > 0) {
        yield* Metric.incrementBy(withoutKey, waiting.length)
        yield* query(uncount, [JSON.stringify(waiting), token])
      }
      return claimed
    })

  const toInput = ({ delivery, token }: Settlement) => ({
    id: delivery.id,
    application_id: delivery.applicationId,
    object: dialect.objectOf(delivery.event),
    token,
    state: stateLetters[delivery.state],
    attempts: attemptsOf(delivery.attempts),
    due_at: millisOf(delivery.dueAt),
    ended_at: millisOrNull(delivery.endedAt)
  })

  return {
    wakeUps,
    claim: (request) => claimLooking(request, maxLooks),
    settle: (settlements) =>
      settlements.length === 0 ? Effect.succeed([]) : Effect.map(
        query<{ readonly recorded: ReadonlyArray<number> }>(settle, [JSON.stringify(settlements.map(toInput))]),
        ([row]) => (row?.recorded ?? []).map(toDeliveryId)
      ),
    release: (claims, dueAt) =>
      claims.length === 0 ? Effect.succeed([]) : Effect.map(
        query<{ readonly id: Int8 }>(release, [
          JSON.stringify(
            claims.map(({ delivery: { applicationId, id }, token }) => ({ id, application_id: applicationId, token }))
          ),
          millisOf(dueAt)
        ]),
        (rows) => rows.map(({ id }) => toDeliveryId(id))
      ),
    cancel: (id, now, limit) =>
      alone(transaction(
        Effect.flatMap(
          query(cancel, [id, millisOf(now), limit]),
          (rows) =>
            rows.length === 0 ? Effect.succeed(0) : Effect.as(query(promote, [JSON.stringify(rows)]), rows.length)
        )
      )),
    again: ({ applicationId, event, id, subscriptionId }, now, only) =>
      Effect.flatMap(
        queueing(
          [event],
          transaction(Effect.gen(function*() {
            yield* query(holdCopies(p), [])
            if (only !== undefined) yield* query(holdDelivery, [id, applicationId])
            const [stored] = yield* query<EventRow>(findEvent(only ?? "always"), [id, applicationId])
            if (stored === undefined) return []
            return yield* query<DeliveryRow>(again, [JSON.stringify({
              application_id: applicationId,
              subscription_id: subscriptionId,
              due_at: millisOf(now),
              ...stored
            })])
          }))
        ),
        ([row]) => row ? Effect.as(wake, Option.some(toDelivery(row))) : Effect.succeedNone
      ),
    enqueue: (outgoing) =>
      Effect.flatMap(
        queueing(
          outgoing.map(({ event }) => event),
          query<{ readonly id: Int8 }>(enqueue, [outgoingParameter([{ outgoing }])])
        ),
        (rows) => Effect.as(rows.length > 0 ? wake : Effect.void, rows.map(({ id }) => toDeliveryId(id)))
      )
  }
}
