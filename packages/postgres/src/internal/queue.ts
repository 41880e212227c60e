/**
 * SQL of the queue, which both dialects share.
 *
 * The states of a delivery's row (`state`; in brackets, columns that change with it):
 *
 *     insert ──> 'p' pending ──claim──> 'p' [claim_token, lease_ends, claims + 1] ──settle: the end [attempts, ended_at]──> 'd' delivered
 *                 ^      │                │  │                                                                        ├──> 'x' exhausted
 *                 │      │                │  └──settle: a pause [attempts, due_at], release, or lease_ends passes──┐  └──> 's' set aside
 *                 │      └──cancel────────┴──> 'c' cancelled                                                       │
 *                 └────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Of the pending rows of one ordering key (subscription and object), only the first can be claimed. `head` is true for it, and
 * may be true for others. It becomes true with the insert if no other is pending, or when the one before it ends.
 *
 * - **Claim** (18 µs of PostgreSQL for each delivery, in batches of hundreds): find candidates without a lock, lock them but skip
 *   those of another claim, leave out those that are due at another time now, and mark the rest.
 * - **Settle** (28 µs, half of them for the index entries of an ended delivery): a function, so that both of its statements
 *   are one call. The second makes the next rows heads, and sees what was queued while the first waited for locks.
 *   A table of their own for ended deliveries would save a tenth of this.
 * - **Outbox**: CTEs of the save itself. It looks up who is concerned, locks the heads that its rows wait behind, and inserts.
 */
import type { ClaimRequest } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import type { Parameter, Statement } from "./statement.ts"
import { eventColumns, fromEvent, millisOf } from "./rows.ts"
import type { Dialect } from "./dialect/Dialect.ts"

const columns = ["id", "subscription_id", "due_at", "attempts", "claims", ...Object.keys(eventColumns)].join(", ")

/**
 * The first parameters of a claim: now, end of the lease, token, limit, per subscription, allowances (JSON object by
 * subscription).
 */
export const requestParameters = (request: ClaimRequest): ReadonlyArray<Parameter> => {
  const { leaseEnds, limit, now, perSubscription, token } = request
  return [millisOf(now), millisOf(leaseEnds), token, limit, perSubscription, allowancesOf(request)]
}

/** The allowances of a request as a JSON object by subscription. */
export const allowancesOf = ({ allowances }: ClaimRequest): string => JSON.stringify(Object.fromEntries(allowances))

/** The array of a parameter that is a JSON array of identifiers. */
export const bigints = (parameter: string): string =>
  `ARRAY(SELECT value::bigint FROM json_array_elements_text(${parameter}::json))`

/** The instant after which times have passed, if there is one. */
export const latestOf = ({ latest }: ClaimRequest): number | null => latest === undefined ? null : millisOf(latest)

/** The subscriptions whose deliveries wait: paused, or of a suspended application. Usually none, by two small indexes. */
export const pausedText = (p: string): string => `
    SELECT s.id FROM ${p}subscriptions s WHERE s.paused
    UNION ALL
    SELECT s.id FROM ${p}applications a JOIN ${p}subscriptions s ON s.application_id = a.id WHERE a.state = 's'`

/** That no worker is at a delivery. `latest` is the parameter of the instant after which times have passed. */
export const free = (latest: string): string =>
  `(d.lease_ends IS NULL OR d.lease_ends <= $1::bigint OR d.lease_ends > ${latest}::bigint)`

/**
 * Claims the rows of the CTE `candidates` (`id`, `due_at`). The answer is one row, with the deliveries as JSON, the earliest
 * first. Of a subscription and of the signing secrets there is only the present version: claim after claim it is one that the
 * worker knows.
 *
 * The commit of a claim's own transaction on a server does not wait for the disk, which would double its time: a crash of
 * the server that undoes a claim is harmless. A database in the process must wait: a delivery that ends the process would
 * end the database too, and undo the count of its claims.
 *
 * `isLazy` is the parameter whether the commit need not wait for the disk, and
 * `latest` as in `free`. `application` is the parameter of the only application, where a claim is for one.
 */
export const claimText = (p: string, isLazy: string, latest: string, application?: string): string => {
  const andOurs = (alias: string) =>
    application === undefined ? "" : ` AND ${alias}.application_id = ${application}::bigint`
  // Locked by identifier alone, as with `ofApplication`, and then examined as they are. One that was released or settled in
  // the meantime is due at another time: it may no longer be among the earliest. IS TRUE keeps the list a hash table.
  return `locked AS MATERIALIZED (
    SELECT d.id FROM (
      SELECT d.* FROM ${p}deliveries d WHERE d.id = ANY (ARRAY(SELECT id FROM candidates))${andOurs("d")}
      OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED
    ) d WHERE d.state = 'p' AND ((d.id, d.due_at) IN (SELECT id, due_at FROM candidates)) IS TRUE AND ${free(latest)}
  ),
  claimed AS (
    UPDATE ${p}deliveries d SET claim_token = $3::text, lease_ends = $2::bigint, claims = d.claims + 1
    WHERE d.id = ANY (ARRAY(SELECT id FROM locked))${andOurs("d")}
    RETURNING d.*
  )
  SELECT CASE WHEN ${isLazy}::boolean THEN set_config('synchronous_commit', 'off', true) END, (SELECT count(*) FROM candidates)::integer AS candidates,
    (
      SELECT json_agg(d) FROM (SELECT ${columns} FROM claimed ORDER BY due_at, id) d
    ) AS deliveries,
    (
      SELECT json_agg(json_build_array(s.application_id, s.id, s.version, a.signing_version))
      FROM ${p}subscriptions s JOIN ${p}applications a ON a.id = s.application_id
      WHERE s.application_id = ANY (ARRAY(SELECT DISTINCT application_id FROM claimed))${andOurs("s")}
    ) AS subscriptions`
}

/*
 * The recording of attempts. A migration created the function: to change it, add a migration that replaces it with the variant
 * of the dialect, because the tables may be divided by then.
 */

/** The columns of an ended delivery with its ordering key, and these with their types. */
const orderingKey = {
  id: "bigint",
  application_id: "bigint",
  subscription_id: "bigint",
  object_type: "\"char\"",
  object_id: "bigint"
}
export const orderingColumns = Object.keys(orderingKey)
export const orderingTypes = Object.entries(orderingKey).map(([name, type]) => `${name} ${type}`).join(", ")

/** The variables of the function with these columns. */
const arrays = "ended, applications, subscriptions, types, objects"

/**
 * Records attempts whose claim still holds: ending a delivery ends its claim. `$1` is a JSON array of settlements.
 * `into` is the INTO clause of the function, for the recorded identifiers, and the ended ones with their ordering keys.
 *
 * Lock order: saves take FOR KEY SHARE on heads by ascending id, and so does this UPDATE. It conflicts with them
 * because `state` is part of a unique index. An explicit lock first would double the cost.
 */
export const recordText = (p: string, into = ""): string => `
  WITH input AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json)
      AS i(id bigint, application_id bigint, token text, state "char", attempts json, due_at bigint, ended_at bigint) ORDER BY id
  ),
  settled AS (
    UPDATE ${p}deliveries d SET state = i.state, attempts = i.attempts, due_at = i.due_at, ended_at = i.ended_at,
      claim_token = NULL, lease_ends = NULL, claims = 0
    FROM input i WHERE d.id = i.id AND d.application_id = i.application_id AND d.claim_token = i.token
    RETURNING d.id, d.state, d.application_id, d.subscription_id, d.object_type, d.object_id
  )
  SELECT array_agg(id), ${orderingColumns.map((name) => `array_agg(${name}) FILTER (WHERE state <> 'p')`).join(", ")}
  ${into} FROM settled`

/**
 * Makes the next delivery of each ordering key its head, after ended deliveries. `ended` is a table `e` of these, with
 * `orderingColumns`. The scan starts at their identifiers, which skips dead entries.
 */
export const promoteText = ({ next, prefix }: Dialect, ended: string): string => `
  UPDATE ${prefix}deliveries d SET head = true
  FROM (${next(ended)}
  ) i
  WHERE d.id = i.id AND d.application_id = i.application_id AND NOT d.head`

/**
 * The same as a statement, after a cancellation in its transaction. Its parameter is what was cancelled, as JSON. Only this
 * later snapshot has deliveries that were queued behind a head during its cancellation. For the first of each ordering
 * key: each lookup walks through all that were cancelled after it.
 */
export const promoteStatement = (dialect: Dialect): Statement => {
  const key = orderingColumns.filter((name) => name !== "id").join(", ")
  return {
    name: `${dialect.prefix}delivery_promote`,
    text: promoteText(
      dialect,
      `(
        SELECT DISTINCT ON (${key}) ${orderingColumns.join(", ")}
        FROM json_to_recordset($1::json) AS c(${orderingTypes}) ORDER BY ${key}, id
      ) e`
    )
  }
}

/**
 * Two statements in one transaction: only a later snapshot has deliveries that were queued while the first statement
 * waited, and in a volatile function, each statement has its own snapshot.
 *
 * Looks up each delivery by its identifier, in order. With statistics of few pending deliveries, the planner would
 * compare all settlements with all of them.
 */
export const settleFunction = (dialect: Dialect): string => `
CREATE OR REPLACE FUNCTION ${dialect.prefix}settle(json) RETURNS json LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  recorded bigint[];
  ended bigint[];
  applications bigint[];
  subscriptions bigint[];
  types "char"[];
  objects bigint[];
BEGIN ${dialect.beforeSettling}
  ${recordText(dialect.prefix, `INTO recorded, ${arrays}`)};
  ${promoteText(dialect, `unnest(${arrays}) e(${orderingColumns.join(", ")})`)};
  RETURN coalesce(to_json(recorded), '[]');
END
$$`

/** The names of the columns of an event, and these with their types. */
export const eventNames = Object.keys(eventColumns).join(", ")
export const eventTypes = Object.entries(eventColumns).map(([name, type]) => `${name} ${type}`).join(", ")

/**
 * The parameter of `outbox`. All events of a batch are in one list, each with the position of its change: parsing a list
 * inside each change would cost as much as the change.
 */
export const outgoingParameter = (changes: ReadonlyArray<{ readonly outgoing: ReadonlyArray<Outgoing> }>): string =>
  JSON.stringify(
    changes
      .flatMap(({ outgoing }, place) => outgoing.map(({ audience, event }) => ({ place, audience, event })))
      .map(({ audience, event, place }, number) =>
        Object.assign(fromEvent(event), {
          number,
          place,
          audience_id: audience._tag === "Application" ? audience.applicationId : null,
          user_ids: audience._tag === "GrantedBy" ? audience.userIds : null
        })
      )
  )

/** Inserts a delivery for each of `targets`. Needs `blocked_keys`. `position` is the position in the event log. */
export const insertDeliveries = (p: string, position = "NULL::bigint"): string => `
  INSERT INTO ${p}deliveries
    (application_id, subscription_id, ${eventNames}, state, head, due_at, log_position)
  SELECT t.application_id, t.subscription_id, ${eventNames}, 'p', NOT EXISTS (
      SELECT FROM blocked_keys h
      WHERE h.subscription_id = t.subscription_id AND h.object_type = t.object_type AND h.object_id = t.object_id
    ), t.due_at, ${position}
  FROM targets t ORDER BY t.number, t.subscription_id
  RETURNING id`

/**
 * The CTEs that queue the events in the column `outgoing` of `source`, a single row. The last one, `queued`, has one row
 * per delivery. With `saved`, only events whose position is among its rows.
 *
 * Lateral lookups use indexes for any expected number of rows: the planner expects 100 per JSON list and 10 per array,
 * and would prepare for their product. Subscriptions are locked against removal, so that a removal is either earlier
 * (the lock finds no row) or sees these deliveries. Grants of an earlier epoch of their application are ignored.
 */
export const outbox = ({ blockedKeys, lookup, prefix }: Dialect, source: string, saved?: string): string => `
outgoing AS MATERIALIZED (
  SELECT o.* FROM ${source} CROSS JOIN LATERAL json_to_recordset(${source}.outgoing) AS o(
    number integer, place integer, audience_id bigint, user_ids bigint[], ${eventTypes}
  )${saved === undefined ? "" : ` WHERE o.place = ANY (ARRAY(SELECT place FROM ${saved}))`}
),
concerned AS MATERIALIZED (
  SELECT o.number, o.audience_id AS application_id, NULL::integer AS epoch
  FROM outgoing o WHERE o.audience_id IS NOT NULL
  UNION
  SELECT o.number, g.application_id, g.application_epoch
  FROM (SELECT o.number, unnest(o.user_ids) AS user_id FROM outgoing o) o ${
  lookup("grants", "g", "g.user_id = o.user_id AND g.active")
}
  ORDER BY application_id
),
receivers AS MATERIALIZED (
  SELECT s.application_id, s.id, a.epoch
  FROM (SELECT DISTINCT application_id FROM concerned ORDER BY application_id) c ${
  lookup("subscriptions", "s", "s.application_id = c.application_id", "FOR KEY SHARE")
} ${lookup("applications", "a", "a.id = s.application_id")}
),
targets AS MATERIALIZED (
  SELECT c.number, c.application_id, h.id AS subscription_id, ${eventNames}, event_time AS due_at
  FROM concerned c JOIN receivers h ON h.application_id = c.application_id AND coalesce(c.epoch, h.epoch) = h.epoch
    JOIN outgoing o ON o.number = c.number
),
${blockedKeys},
queued AS (${insertDeliveries(prefix)})`
