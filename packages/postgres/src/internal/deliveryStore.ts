/** The queue of deliveries, and the record of what was tried. */
import type { Claimed, ClaimRequest, DeliveryStore, Settlement } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { type Database, isJoined, type Statement } from "../Database.ts"
import type { Seal } from "../Seal.ts"
import { type HourRow, hoursStatement, toHour } from "./attemptHours.ts"
import { claimStatements } from "./claim.ts"
import {
  type AttemptRow,
  attemptsOf,
  deliveryColumns,
  type DeliveryRow,
  stateLetters,
  toAttempt,
  toDelivery,
  toDeliveryId
} from "./deliveryRows.ts"
import { insertDeliveries, lanes, objectLetters, outbox, outgoingOf } from "./outbox.ts"
import { eventColumns, type EventRow, type Int8, millisOf, millisOrNull, toEvent, toInstant } from "./rows.ts"
import { subscriptionColumns, type SubscriptionRow, toSigning } from "./subscriptionRows.ts"

/** No deliveries, but candidates: these were all somebody else's. */
interface ClaimRow {
  readonly candidates: number
  readonly decided: boolean
  readonly deliveries: ClaimedColumns | null
  readonly events: ReadonlyArray<EventRow & { readonly seq: number }> | null
  readonly subscriptions: ReadonlyArray<readonly [id: number, version: number]> | null
}

/** The columns of what was claimed. */
type ClaimedColumns = readonly [
  ids: ReadonlyArray<number>,
  subscriptions: ReadonlyArray<number>,
  events: ReadonlyArray<number>,
  dueAt: ReadonlyArray<number>,
  attempts: ReadonlyArray<ReadonlyArray<AttemptRow> | null>,
  claims: ReadonlyArray<number>
]

/** So many subscriptions are remembered as they were decoded: every claim is for nearly the same ones. */
const maxKnown = 4096

/** How often a claim that met only deliveries under another node's hand looks for others. */
const maxLooks = 3

export const make = (
  { isInProcess, prefix: p, query, wake, wakeUps }: Database.Service,
  seal: Seal.Service
): DeliveryStore.Service => {
  const { quick, thorough } = claimStatements(p)
  const attemptsByHour = hoursStatement(p)
  const findSubscriptions = {
    name: `${p}subscription_find_claimed`,
    text: `SELECT ${subscriptionColumns} FROM ${p}subscriptions s
      WHERE s.id = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text($1::json)))`
  }
  const decodeSubscription = toSigning(seal)
  const known = new Map<number, Claimed["subscription"]>()

  const settle = { name: `${p}delivery_settle`, text: `SELECT ${p}settle($1::json) AS recorded` }
  const release = {
    name: `${p}delivery_release`,
    text: `UPDATE ${p}deliveries d SET claim_token = NULL, lease_ends = NULL, claims = d.claims - 1, due_at = $2::bigint
      FROM json_to_recordset($1::json) AS i(id bigint, token text)
      WHERE d.id = i.id AND d.claim_token = i.token AND d.state = 'p' RETURNING d.id`
  }
  const uncount = {
    name: `${p}delivery_uncount`,
    text: `UPDATE ${p}deliveries SET claims = 0
      WHERE id = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text($1::json))) AND claim_token = $2::text`
  }
  const find = {
    name: `${p}delivery_find`,
    text: `SELECT ${deliveryColumns} FROM ${p}deliveries d JOIN ${p}events e ON e.seq = d.event_seq
      WHERE d.id = $1::bigint`
  }
  /** The newest of each state, as an index has them, merged: few rows are read that are not asked for. */
  const list = (letters: ReadonlyArray<string>, name: string, conditionOf: (letter: string) => string): Statement => {
    const newest = (letter: string) => `
        SELECT * FROM (
          SELECT * FROM ${p}deliveries x WHERE ${conditionOf(letter)} AND x.id < $1::bigint
          ORDER BY x.id DESC LIMIT $2::integer
        ) ${letter}`
    return {
      name: `${p}delivery_list${name}_${letters.join("")}`,
      text: `SELECT ${deliveryColumns}
      FROM (${letters.map(newest).join(" UNION ALL ")}
        ORDER BY id DESC LIMIT $2::integer
      ) d CROSS JOIN LATERAL (SELECT * FROM ${p}events x WHERE x.seq = d.event_seq OFFSET 0) e
      ORDER BY d.id DESC`
    }
  }
  const listOfAll = (letters: ReadonlyArray<string>) => list(letters, "", (letter) => `x.state::text = '${letter}'`)
  const listOfApplication = (letters: ReadonlyArray<string>) =>
    list(letters, "_application", (letter) => `x.application_id = $3::bigint AND x.state = '${letter}'`)
  // The event is copied: nothing that removes the original's rows can take this one's.
  const again = {
    name: `${p}delivery_again`,
    text: `WITH targets AS MATERIALIZED (
        SELECT nextval('${p}events_seq_seq') AS seq, $8::"char" AS letter, $5::bigint AS object_id, $9::bigint AS time,
          s.application_id, s.id AS subscription_id
        FROM ${p}subscriptions s WHERE s.application_id = $1::bigint AND s.id = $2::bigint FOR KEY SHARE
      ), ${lanes(p)},
      kept AS (
        INSERT INTO ${p}events (seq, id, aspect_type, object_type, object_id, updates, time, trace, remaining)
        SELECT seq, $3::text, $4::text, $10::text, $5::bigint, $6::json, $7::bigint, $11::text, 1 FROM targets
        RETURNING *
      ),
      told AS (${insertDeliveries(p)})
      SELECT told.id, told.due_at, s.application_id, s.subscription_id, 'p' AS state, NULL AS ended_at, NULL AS attempts,
        ${eventColumns}
      FROM told, targets s, kept e`
  }
  const enqueue = {
    name: `${p}delivery_enqueue`,
    text: `WITH given AS (SELECT $1::json AS outgoing), ${outbox(p, "given")}
      SELECT count(*)::integer AS told FROM told`
  }
  const purge = {
    name: `${p}delivery_purge`,
    text: `WITH old AS MATERIALIZED (
        SELECT id FROM ${p}deliveries WHERE ended_at <= $1::bigint
        ORDER BY ended_at LIMIT $2::integer FOR UPDATE SKIP LOCKED
      ),
      gone AS (DELETE FROM ${p}deliveries WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING event_seq),
      counts AS MATERIALIZED (SELECT event_seq, count(*) AS count FROM gone GROUP BY event_seq),
      held AS MATERIALIZED (
        SELECT seq FROM ${p}events WHERE seq = ANY (ARRAY(SELECT event_seq FROM counts)) ORDER BY seq FOR UPDATE
      ),
      untold AS (
        UPDATE ${p}events e SET remaining = e.remaining - c.count
        FROM counts c WHERE e.seq = c.event_seq AND e.seq IN (SELECT seq FROM held)
      )
      SELECT count(*)::integer AS count FROM gone`
  }
  const purgeEvents = {
    name: `${p}event_purge`,
    text: `DELETE FROM ${p}events WHERE seq = ANY (ARRAY(
        SELECT seq FROM ${p}events WHERE remaining <= 0 ORDER BY seq LIMIT $1::integer FOR UPDATE SKIP LOCKED
      ))`
  }

  const claimBy = (claim: Statement, request: ClaimRequest) =>
    Effect.withFiberRuntime<ReadonlyArray<ClaimRow>, StoreError>((fiber) =>
      query(claim, [
        millisOf(request.now),
        millisOf(request.leaseEnds),
        request.token,
        request.limit,
        request.perSubscription,
        JSON.stringify(Object.fromEntries(request.allowances)),
        !isInProcess && !isJoined(fiber)
      ])
    )

  const claimOnce = (request: ClaimRequest) =>
    Effect.flatMap(
      claimBy(quick, request),
      (rows) => rows[0]?.decided === false ? claimBy(thorough, request) : Effect.succeed(rows)
    )

  const claimLooking = (request: ClaimRequest, looks: number): Effect.Effect<ReadonlyArray<Claimed>, StoreError> =>
    Effect.flatMap(claimOnce(request), ([row]) => {
      if (row === undefined) return Effect.succeed([])
      if (row.deliveries !== null) return toClaimed(row, row.deliveries, request)
      return row.candidates > 0 && looks > 1 ? claimLooking(request, looks - 1) : Effect.succeed([])
    })

  /**
   * The subscriptions of a claim: only those that are not known in this version are read. One whose secrets no key opens
   * holds nobody else up: what was claimed for it waits until the lease is over, and is claimed again.
   */
  const heardBy = (versions: ReadonlyArray<readonly [id: number, version: number]>) =>
    Effect.gen(function*() {
      const heard = new Map<number, Claimed["subscription"]>()
      const missing: Array<number> = []
      for (const [id, version] of versions) {
        const last = known.get(id)
        if (last?.version === version) heard.set(id, last)
        else missing.push(id)
      }
      if (missing.length === 0) return heard
      if (known.size + missing.length > maxKnown) known.clear()
      for (const row of yield* query<SubscriptionRow>(findSubscriptions, [JSON.stringify(missing)])) {
        const subscription = decodeSubscription(row)
        if (Either.isRight(subscription)) {
          known.set(subscription.right.id, subscription.right)
          heard.set(subscription.right.id, subscription.right)
        } else yield* Effect.logError(`the events of application ${row.application_id} wait`, subscription.left)
      }
      return heard
    })

  const toClaimed = (
    { events, subscriptions }: ClaimRow,
    [ids, subscriptionIds, seqs, dueAt, attempts, claims]: ClaimedColumns,
    { leaseEnds, token }: ClaimRequest
  ) =>
    Effect.gen(function*() {
      const told = new Map((events ?? []).map((row) => [row.seq, toEvent(row)]))
      const heard = yield* heardBy(subscriptions ?? [])
      const claimed: Array<Claimed> = []
      const unheard: Array<number> = []
      let due = toInstant(0)
      ids.forEach((id, place) => {
        const event = told.get(seqs[place] ?? 0)
        const subscription = heard.get(subscriptionIds[place] ?? 0)
        if (event === undefined || subscription === undefined) return void unheard.push(id)
        // They come in the order of it, and many are due at once.
        const millis = dueAt[place] ?? 0
        if (due.epochMillis !== millis) due = toInstant(millis)
        const delivery: Claimed["delivery"] = {
          id: toDeliveryId(id),
          applicationId: subscription.applicationId,
          subscriptionId: subscription.id,
          event,
          state: "pending",
          attempts: (attempts[place] ?? []).map(toAttempt),
          dueAt: due,
          endedAt: Option.none()
        }
        claimed.push({ delivery, subscription, token, leaseEnds, claims: claims[place] ?? 1 })
      })
      // These waited for a key. Their claims must not count against them once it is there.
      if (unheard.length > 0) yield* query(uncount, [JSON.stringify(unheard), token])
      return claimed
    })

  const toInput = ({ delivery, token }: Settlement) => ({
    id: delivery.id,
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
        ([row]) => {
          const recorded = new Set(row?.recorded)
          return settlements.flatMap(({ delivery }) => recorded.has(delivery.id) ? [delivery.id] : [])
        }
      ),
    release: (claims, dueAt) =>
      claims.length === 0 ? Effect.succeed([]) : Effect.map(
        query<{ readonly id: Int8 }>(release, [
          JSON.stringify(claims.map(({ delivery: { id }, token }) => ({ id, token }))),
          millisOf(dueAt)
        ]),
        (rows) => rows.map(({ id }) => toDeliveryId(id))
      ),
    find: (id) =>
      Effect.map(query<DeliveryRow>(find, [id]), ([row]) => Option.map(Option.fromNullable(row), toDelivery)),
    list: ({ after, applicationId, limit, state }) => {
      const letters = Option.isSome(state) ? [stateLetters[state.value]] : Object.values(stateLetters)
      const page = [Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER), limit]
      return Effect.map(
        Option.isSome(applicationId)
          ? query<DeliveryRow>(listOfApplication(letters), [...page, applicationId.value])
          : query<DeliveryRow>(listOfAll(letters), page),
        (rows) => rows.map(toDelivery)
      )
    },
    attemptsByHour: ({ applicationId, from, limit }) =>
      Effect.map(
        query<HourRow>(attemptsByHour, [
          applicationId,
          millisOf(from),
          limit,
          JSON.stringify(Object.values(stateLetters))
        ]),
        (rows) => rows.map((row) => toHour(row, millisOf(from)))
      ),
    again: ({ applicationId, event, subscriptionId }, now) =>
      Effect.flatMap(
        query<DeliveryRow>(again, [
          applicationId,
          subscriptionId,
          event.id,
          event.aspectType,
          event.objectId,
          "platform_id" in event.updates ? JSON.stringify(event.updates) : null,
          millisOf(event.time),
          objectLetters[event.objectType],
          millisOf(now),
          event.objectType,
          Option.getOrNull(event.trace)
        ]),
        ([row]) => row ? Effect.as(wake, Option.some(toDelivery(row))) : Effect.succeedNone
      ),
    enqueue: (outgoing) =>
      Effect.flatMap(
        query<{ readonly told: number }>(enqueue, [JSON.stringify(outgoingOf(outgoing))]),
        ([row]) => row !== undefined && row.told > 0 ? wake : Effect.void
      ),
    purge: (endedBefore, limit) =>
      Effect.flatMap(
        query<{ readonly count: number }>(purge, [millisOf(endedBefore), limit]),
        ([row]) => Effect.as(query(purgeEvents, [limit]), row?.count ?? 0)
      )
  }
}
