/**
 * Tables that Citus divides into shards on several servers, or PostgreSQL into partitions. Only this file, `Citus.ts` and the
 * tests know of them.
 *
 * Rows can be locked in one shard only, so advisory locks take the place of row locks between shards. Statements name the
 * application or the user of every row that they look up, so that they read only its shard.
 */
import * as Effect from "effect/Effect"
import type { ClaimRequest } from "@startlist/core/DeliveryQueue"
import type { Event } from "@startlist/core/Event"
import { allowancesOf, bigints, claimText, free, latestOf } from "../queue.ts"
import { fromEvent, type Int8, millisOf } from "../rows.ts"
import type { Claiming, Dialect } from "./Dialect.ts"

/** Shared by all changes of the queue but removals and cancellations, which have it alone. */
const queueLock = (p: string): string => `hashtextextended('${p}queue', 0)`
const objectLock = (p: string, object: string): string => `hashtextextended('${p}object ' || ${object}, 0)`

/** The object of an event, as a part of the name of its lock. */
const objectOf = (event: Event): string => {
  const { object_id: id, object_type: type } = fromEvent(event)
  return `${type}${id}`
}

/** The dialect of tables with this prefix. The grants have this number of shards. */
export const make = (prefix: string, shardCount: number): Dialect => ({
  prefix,
  isDivided: true,
  shardOf: shardCount > 1 ? shardOf(shardCount) : undefined,
  rowLock: () => "",
  ofApplication: (parameter) => `application_id = ${parameter}::bigint AND `,
  aboutRegistrations: (ids) => `object_type = 'r' AND object_id = ANY (${bigints(ids)})`,
  lookup: (table, alias, condition) => `JOIN ${prefix}${table} ${alias} ON ${condition}`,
  // The other conditions imply it, but a cluster reads only the shards that a condition like this names.
  ofUsers: (column, users) => `AND ${column} = ANY (${users}::bigint[])`,
  usersParameter: (userIds) => [`{${userIds.join(",")}}`],
  // `queueing` keeps settling away.
  blockedKeys: `
blocked_keys AS MATERIALIZED (
  SELECT DISTINCT d.subscription_id, d.object_type, d.object_id FROM targets t JOIN ${prefix}deliveries d
    ON d.application_id = t.application_id AND d.subscription_id = t.subscription_id
    AND d.object_type = t.object_type AND d.object_id = t.object_id
  WHERE d.state = 'p' AND d.head
)`,
  next: (ended) => `
    SELECT min(n.id) AS id, n.application_id FROM ${ended} JOIN ${prefix}deliveries n
      ON n.application_id = e.application_id AND n.subscription_id = e.subscription_id
      AND n.object_type = e.object_type AND n.object_id = e.object_id AND n.state = 'p' AND n.id > e.id
    GROUP BY n.application_id, n.subscription_id, n.object_type, n.object_id`,
  // Locks the objects of ended deliveries for the rest of the transaction.
  beforeSettling: `
  PERFORM pg_advisory_xact_lock_shared(${queueLock(prefix)});
  PERFORM pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT ${objectLock(prefix, "e.object")} AS key
    FROM json_to_recordset($1::json) AS e(state "char", object text) WHERE state <> 'p' ORDER BY key OFFSET 0
  ) o;`,
  objectOf,
  steps: ({ query, transaction }) => {
    const p = prefix
    const share = {
      name: `${p}lock_objects`,
      text: `WITH queue AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${queueLock(p)})::text AS locked)
        SELECT count(pg_advisory_xact_lock_shared(key)::text) FROM queue, (
          SELECT DISTINCT ${
        objectLock(p, "o.value")
      } AS key FROM json_array_elements_text($1::json) o ORDER BY key OFFSET 0
        ) o WHERE queue.locked IS NOT NULL`
    }
    const exclude = { name: `${p}lock_queue`, text: `SELECT pg_advisory_xact_lock(${queueLock(p)})::text` }
    // Citus locks rows only with a change.
    const hold = {
      name: `${p}application_hold`,
      text: `UPDATE ${p}applications SET version = version WHERE id = $1::bigint RETURNING id`
    }
    // A save that reads the shard of an ended delivery, whose transaction is still in doubt there, makes no head.
    const lead = {
      name: `${p}delivery_lead`,
      text: `UPDATE ${p}deliveries d SET head = true WHERE d.state = 'p' AND NOT d.head AND NOT EXISTS (
          SELECT FROM ${p}deliveries b WHERE b.application_id = d.application_id AND b.subscription_id = d.subscription_id
            AND b.object_type = d.object_type AND b.object_id = d.object_id AND b.id < d.id AND b.state = 'p'
        )`
    }
    const claim = (request: ClaimRequest, isLazy: boolean): Claiming => {
      const [now, leaseEnds, latest] = [millisOf(request.now), millisOf(request.leaseEnds), latestOf(request)]
      const { limit, perSubscription, token } = request
      const chosen = query<ChosenRow>(overview(p), [now, limit, perSubscription, allowancesOf(request), latest])
      const claimOf = ({ application_id: id, chosen }: ChosenRow): Claiming =>
        query(ofApplication(p), [now, leaseEnds, token, String(id), JSON.stringify(chosen), isLazy, latest])
      return transaction(
        Effect.flatMap(chosen, (rows) => Effect.map(Effect.forEach(rows, claimOf), (all) => all.flat()))
      )
    }
    return {
      claim,
      queueing: (events, save) =>
        events.length > 0
          ? transaction(Effect.zipRight(query(share, [JSON.stringify(events.map(objectOf))]), save))
          : save,
      alone: (effect) => transaction(Effect.zipRight(query(exclude, []), effect)),
      holding: (id, save) => transaction(Effect.zipRight(query(hold, [id]), save)),
      repair: Effect.asVoid(query(lead, []))
    }
  }
})

/** The chosen deliveries of an application, each with its due time. */
interface ChosenRow {
  readonly application_id: Int8
  readonly chosen: ReadonlyArray<readonly [id: number, dueAt: number]>
}

/**
 * The deliveries to claim, by application. Parameters: now, limit, per subscription, allowances (JSON object by subscription),
 * the instant after which times have passed. It reads all shards.
 */
const overview = (p: string) => ({
  name: `${p}delivery_claim_overview`,
  text: `WITH allowances AS MATERIALIZED (
  SELECT key::bigint AS subscription_id, value::integer AS allowance FROM json_each_text($4::json)
  ),
  earliest AS MATERIALIZED (
  SELECT d.id, d.application_id, d.subscription_id, d.due_at, d.place
  FROM ${p}subscriptions s JOIN ${p}applications a ON a.id = s.application_id CROSS JOIN LATERAL (
    SELECT d.id, d.application_id, d.subscription_id, d.due_at, row_number() OVER (ORDER BY d.due_at, d.id) AS place
    FROM ${p}deliveries d
    WHERE d.application_id = s.application_id AND d.subscription_id = s.id AND d.state = 'p' AND d.head
      AND (d.due_at <= $1::bigint OR d.due_at > $5::bigint) AND ${free("$5")} AND NOT EXISTS (
        SELECT FROM ${p}deliveries b
        WHERE b.application_id = d.application_id AND b.subscription_id = d.subscription_id
          AND b.object_type = d.object_type AND b.object_id = d.object_id AND b.id < d.id AND b.state = 'p'
      )
    ORDER BY d.due_at, d.id LIMIT $2::integer
  ) d
  WHERE NOT s.paused AND a.state <> 's'
  ),
  candidates AS MATERIALIZED (
  SELECT e.* FROM earliest e LEFT JOIN allowances a USING (subscription_id)
  WHERE e.place <= coalesce(a.allowance, $3::integer)
  ORDER BY e.due_at, e.id LIMIT $2::integer
  )
  SELECT application_id, json_agg(json_build_array(id, due_at)) AS chosen FROM candidates GROUP BY application_id ORDER BY min(due_at), min(id)`
})

/**
 * Claims chosen deliveries of an application. Parameters: now, end of the lease, token, application, deliveries with due times (JSON),
 * whether the commit need not wait for the disk, the instant after which times have passed.
 */
const ofApplication = (p: string) => ({
  name: `${p}delivery_claim_application`,
  text: `WITH candidates AS MATERIALIZED (
    SELECT (value->>0)::bigint AS id, (value->>1)::bigint AS due_at FROM json_array_elements($5::json)
  ),
  ${claimText(p, "$6", "$7", "$4")}`
})

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** PostgreSQL's `hashint8` of an integer from 0 to 2^53 - 1: Bob Jenkins' mix of its halves, 32 bits with a sign. */
export const hashInt8 = (value: number): number => {
  const half = (value | 0) ^ Math.floor(value / 2 ** 32)
  let c = (0x9e3779b9 + 4 + 3923095) | 0
  let b = c
  let a = (c + half) | 0
  c = ((c ^ b) - rotated(b, 14)) | 0
  a = ((a ^ c) - rotated(c, 11)) | 0
  b = ((b ^ a) - rotated(a, 25)) | 0
  c = ((c ^ b) - rotated(b, 16)) | 0
  a = ((a ^ c) - rotated(c, 4)) | 0
  b = ((b ^ a) - rotated(a, 14)) | 0
  return ((c ^ b) - rotated(b, 24)) | 0
}

/**
 * The number of the shard of a key, from 0, to group calls by it: nothing else depends on it. Citus gives each of `count`
 * shards an equal part of the hashes.
 */
export const shardOf = (count: number) => (key: number): number =>
  Math.min(count - 1, Math.floor((hashInt8(key) + 2 ** 31) / Math.floor(2 ** 32 / count)))
