/** The statement that claims deliveries, fairly, without walking through anybody's backlog. */
import type { Statement } from "../Database.ts"
import { eventColumns } from "./rows.ts"

const columns = ["id", "subscription_id", "due_at", "attempts", "claims", ...Object.keys(eventColumns)].join(", ")

/**
 * Two ways to claim, of the same parameters and with the same answer. Parameters: now, end of the lease, token, limit, per
 * subscription, allowances (JSON object by subscription), whether the commit need not wait for the disk, and the instant
 * after which times have passed.
 *
 * A head is only a hint: that nothing earlier of its object is pending is looked up for each candidate. Another node's
 * claim is skipped, not waited for. `candidates` tells how many there were before that.
 *
 * The commit of a claim's own transaction on a server does not wait for the disk, which would double its time: a crash of
 * the server that undoes a claim is harmless. A database in the process must wait: a delivery that ends the process would
 * end the database too, and undo the count of its claims.
 *
 * The answer is one row, with the deliveries as JSON, the earliest first. Of a subscription and of the signing secrets there is
 * only the present version: claim after claim it is one that the worker knows.
 */
export interface ClaimStatements {
  /**
   * Looks at the earliest heads only, `spare` more than are wanted. If these are enough (`decided`), they are what the
   * other way would find: whatever is later cannot matter. Else it claims nothing: somebody's backlog is in front, or there
   * are heads for `hasten` (`late`).
   */
  readonly quick: Statement
  /**
   * Hops from subscription to subscription along the index of heads, and first takes from each an equal share of the
   * limit. If that makes `limit` deliveries, the last of them is the `bound`: what is due later cannot matter, nor can a
   * subscription of which it took none. Then it takes the allowance of each up to that bound, and of all the earliest.
   */
  readonly thorough: Statement
  /** Makes heads due whose due time has passed because it is too late. Parameters: now, and that instant. */
  readonly hasten: Statement
}

/** Maximum number of heads that one statement makes due. */
const maxHastened = 1000

/** Maximum number of skipped heads: their subscription is at its limit, or they wait for an earlier event. */
const spare = 64

const lastId = "9223372036854775807"

/** The subscriptions whose deliveries wait: paused, or of a suspended application. Usually none, by two small indexes. */
export const heldText = (p: string): string => `
    SELECT s.id FROM ${p}subscriptions s WHERE s.paused
    UNION ALL
    SELECT s.id FROM ${p}applications a JOIN ${p}subscriptions s ON s.application_id = a.id WHERE a.state = 's'`

/** That no worker is at a delivery. `latest` is the parameter of the instant after which times have passed. */
export const free = (latest: string): string =>
  `(d.lease_ends IS NULL OR d.lease_ends <= $1::bigint OR d.lease_ends > ${latest}::bigint)`

/** That a delivery is due. */
export const isDue = (latest: string): string => `(d.due_at <= $1::bigint OR d.due_at > ${latest}::bigint)`

/**
 * Claims the rows of the CTE `candidates`. `isLazy` is the parameter whether the commit need not wait for the disk, and
 * `latest` as in `free`. `application` is the parameter of the only application, where a claim is for one.
 */
export const claimText = (p: string, isLazy: string, latest: string, application?: string): string => {
  const andOurs = (alias: string) =>
    application === undefined ? "" : ` AND ${alias}.application_id = ${application}::bigint`
  return `locked AS MATERIALIZED (
    SELECT d.id FROM ${p}deliveries d
    WHERE d.id = ANY (ARRAY(SELECT id FROM candidates)) AND d.state = 'p' AND ${isDue(latest)}
      AND ${free(latest)}${andOurs("d")}
    FOR NO KEY UPDATE SKIP LOCKED
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

export const claimStatements = (p: string): ClaimStatements => {
  const heads = `${p}deliveries d WHERE d.state = 'p' AND d.head`
  // Rows are compared and ordered by all columns of one index, so that the planner takes that one, whatever it expects to
  // find: by equal columns, any index that has the last ones in order seems as good, and walks through a backlog.
  const isFirst = `(
      SELECT b.id FROM ${p}deliveries b
      WHERE (b.subscription_id, b.object_type, b.object_id) >= (d.subscription_id, d.object_type, d.object_id)
        AND (b.subscription_id, b.object_type, b.object_id, b.id) < (d.subscription_id, d.object_type, d.object_id, d.id)
        AND b.state = 'p'
      ORDER BY b.subscription_id, b.object_type, b.object_id, b.id LIMIT 1
    ) IS NULL`
  const allowances = `allowances AS MATERIALIZED (
    SELECT key::bigint AS subscription_id, value::integer AS allowance FROM json_each_text($6::json)
  )`
  const isFree = free("$8")
  const held = `held AS MATERIALIZED (${heldText(p)})`
  const dueBy = (dueAt: string, id: string) =>
    `${heads} AND d.subscription_id >= w.subscription_id
        AND (d.subscription_id, d.due_at, d.id) <= (w.subscription_id, ${dueAt}, ${id}) AND ${isFree} AND ${isFirst}
      ORDER BY d.subscription_id, d.due_at, d.id`
  return {
    quick: {
      name: `${p}delivery_claim_quick`,
      text: `WITH ${allowances},
  ${held},
  earliest AS MATERIALIZED (
    SELECT d.id, d.subscription_id, d.object_type, d.object_id, d.due_at
    FROM ${heads} AND d.due_at <= (SELECT $1::bigint) AND ${isFree}
    ORDER BY d.due_at, d.id LIMIT (SELECT $4::integer) + ${spare}
  ),
  allowed AS MATERIALIZED (
    SELECT d.* FROM (
      SELECT e.*, row_number() OVER (PARTITION BY e.subscription_id ORDER BY e.due_at, e.id) AS place FROM earliest e
    ) d LEFT JOIN allowances a USING (subscription_id)
    WHERE d.place <= coalesce(a.allowance, $5::integer) AND d.subscription_id NOT IN (SELECT id FROM held)
    ORDER BY d.due_at, d.id LIMIT (SELECT $4::integer)
  ),
  firsts AS MATERIALIZED (SELECT d.id FROM allowed d WHERE ${isFirst}),
  judged AS MATERIALIZED (
    SELECT (f.count = $4::integer OR f.count = a.count AND e.count < $4::integer + ${spare}) AND NOT l.late AS decided, l.late
    FROM (SELECT count(*) FROM firsts) f, (SELECT count(*) FROM allowed) a, (SELECT count(*) FROM earliest) e,
      (SELECT EXISTS (SELECT FROM ${heads} AND d.due_at > (SELECT $8::bigint)) AS late) l
  ),
  candidates AS MATERIALIZED (SELECT id FROM firsts WHERE (SELECT decided FROM judged)),
  ${claimText(p, "$7", "$8")}, (SELECT decided FROM judged) AS decided, (SELECT late FROM judged) AS late`
    },
    thorough: {
      name: `${p}delivery_claim`,
      text: `WITH RECURSIVE waiting (subscription_id) AS (
    (SELECT d.subscription_id FROM ${heads} ORDER BY d.subscription_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT d.subscription_id FROM ${heads} AND d.subscription_id > w.subscription_id
      ORDER BY d.subscription_id LIMIT 1
    ) FROM waiting w WHERE w.subscription_id IS NOT NULL
  ),
  ${allowances},
  ${held},
  shares AS MATERIALIZED (
    SELECT w.subscription_id, w.allowance, c.due_at, c.id
    FROM (
      SELECT w.subscription_id, coalesce(a.allowance, $5::integer) AS allowance
      FROM waiting w LEFT JOIN allowances a USING (subscription_id)
      WHERE w.subscription_id NOT IN (SELECT id FROM held)
    ) w CROSS JOIN LATERAL (
      SELECT d.due_at, d.id FROM ${dueBy("$1::bigint", lastId)}
      LIMIT least(w.allowance, (SELECT ceil($4::float8 / greatest(count(*), 1)) FROM waiting)::integer)
    ) c
    ORDER BY c.due_at, c.id LIMIT $4::integer
  ),
  bound AS MATERIALIZED (
    SELECT due_at, id FROM shares ORDER BY due_at, id OFFSET $4::integer - 1 LIMIT 1
  ),
  candidates AS MATERIALIZED (
    SELECT c.id FROM (SELECT DISTINCT subscription_id, allowance FROM shares) w LEFT JOIN bound ON true
    CROSS JOIN LATERAL (
      SELECT d.id, d.due_at
      FROM ${dueBy("coalesce(bound.due_at, $1::bigint)", `coalesce(bound.id, ${lastId})`)}
      LIMIT w.allowance
    ) c
    ORDER BY c.due_at, c.id LIMIT $4::integer
  ),
  ${claimText(p, "$7", "$8")}, true AS decided, false AS late`
    },
    hasten: {
      name: `${p}delivery_hasten`,
      text: `UPDATE ${p}deliveries d SET due_at = $1::bigint WHERE d.state = 'p' AND d.id = ANY (ARRAY(
        SELECT d.id FROM ${heads} AND d.due_at > $2::bigint
        ORDER BY d.due_at, d.id LIMIT ${maxHastened} FOR NO KEY UPDATE SKIP LOCKED
      ))`
    }
  }
}
