/** Tables on one server. */
import * as Effect from "effect/Effect"
import type { ClaimRequest } from "@startlist/core/DeliveryQueue"
import type { Statement } from "../statement.ts"
import { bigints, claimText, free, latestOf, pausedText, requestParameters } from "../queue.ts"
import { millisOf, stateLetters } from "../rows.ts"
import type { Claiming, ClaimRow, Dialect } from "./Dialect.ts"

/**
 * Whether a new delivery of object `o` to subscription `t` is the first of its ordering key. One scan finds the firsts of an
 * object for all subscriptions.
 *
 * Locks them against concurrent settling, which could otherwise choose the next first without the new delivery. Locks in the
 * order of identifiers, like settling, and with no other condition, so that the planner uses the primary key and reads the
 * locked state.
 */
const blockedKeys = (p: string): string => `
firsts AS (
  SELECT h.id FROM (SELECT DISTINCT object_type, object_id FROM targets) o CROSS JOIN LATERAL (
    SELECT d.id FROM ${p}deliveries d
    WHERE d.object_id = o.object_id AND d.object_type = o.object_type AND d.state = 'p' AND d.head
    ORDER BY d.id OFFSET 0
  ) h
),
blocked_keys AS (
  SELECT d.subscription_id, d.object_type, d.object_id FROM (
    SELECT d.* FROM ${p}deliveries d WHERE d.id = ANY (ARRAY(SELECT id FROM firsts)) ORDER BY d.id OFFSET 0 FOR KEY SHARE
  ) d WHERE d.state = 'p'
)`

/** The states whose indexes begin with the subscription and have the object, each with the columns of its index. */
const byObject = {
  p: "d.subscription_id, d.object_type, d.object_id, d.id",
  d: "d.subscription_id, d.object_id, d.sequence"
}

/**
 * Finds the deliveries about registrations. An erasure is too rare for an index of its own, and a scan of a long history would
 * take longer than its deadline. So it hops from subscription to subscription, as a thorough claim does. Deliveries in the other
 * states are few, unless receivers have failed for long.
 */
const findAbout = (p: string, registrations: string): string => {
  const isAbout = `d.object_type = 'r' AND d.object_id = ANY (${registrations})`
  const states = Object.entries(byObject)
  const others = Object.values(stateLetters).filter((letter) => !(letter in byObject))
  const hops = states.map(([state, columns]) =>
    `subscribed_${state} (subscription_id) AS (
      (SELECT d.subscription_id FROM ${p}deliveries d WHERE d.state = '${state}' ORDER BY ${columns} LIMIT 1)
      UNION ALL
      SELECT (
        SELECT d.subscription_id FROM ${p}deliveries d
        WHERE d.state = '${state}' AND d.subscription_id > s.subscription_id ORDER BY ${columns} LIMIT 1
      ) FROM subscribed_${state} s WHERE s.subscription_id IS NOT NULL
    )`
  )
  const found = states.map(([state]) => `
    SELECT d.id FROM subscribed_${state} s CROSS JOIN LATERAL (
      SELECT d.id FROM ${p}deliveries d
      WHERE d.state = '${state}' AND d.subscription_id = s.subscription_id AND ${isAbout} OFFSET 0
    ) d`)
  return `
    WITH RECURSIVE ${hops.join(", ")} ${found.join(" UNION ALL ")}
    UNION ALL
    SELECT d.id FROM ${p}deliveries d WHERE d.state::text IN (${others.map((letter) => `'${letter}'`)}) AND ${isAbout}
  `
}

/** The dialect of tables with this prefix. */
export const make = (prefix: string): Dialect => ({
  prefix,
  isDivided: false,
  shardOf: undefined,
  rowLock: (clause) => clause,
  ofApplication: () => "",
  // Locks by identifier, because rows of a union cannot be locked.
  aboutRegistrations: (ids) =>
    `id = ANY (ARRAY(
    SELECT id FROM ${prefix}deliveries WHERE id = ANY (ARRAY(${findAbout(prefix, bigints(ids))})) ORDER BY id FOR UPDATE
  ))`,
  // Uses an index for any number of rows that the planner expects from JSON. OFFSET and a lock keep it from joining in another way.
  lookup: (table, alias, condition, lock = "OFFSET 0") =>
    `CROSS JOIN LATERAL (SELECT * FROM ${prefix}${table} ${alias} WHERE ${condition} ${lock}) ${alias}`,
  ofUsers: () => "",
  usersParameter: () => [],
  blockedKeys: blockedKeys(prefix),
  // The scan starts at the ended delivery, which skips dead entries.
  next: (ended) => `
    SELECT next.id, next.application_id FROM ${ended} CROSS JOIN LATERAL (
      SELECT n.id, n.application_id FROM ${prefix}deliveries n
      WHERE n.subscription_id = e.subscription_id AND n.object_type = e.object_type AND n.object_id = e.object_id
        AND n.state = 'p' AND n.id > e.id
      ORDER BY n.id LIMIT 1
    ) next ORDER BY next.id OFFSET 0`,
  beforeSettling: "",
  objectOf: () => undefined,
  steps: ({ query }) => {
    const { hasten, quick, thorough } = claimStatements(prefix)
    const claimBy = (statement: Statement, request: ClaimRequest, isLazy: boolean) =>
      query<QuickRow>(statement, [...requestParameters(request), isLazy, latestOf(request)])
    const claim = (request: ClaimRequest, isLazy: boolean): Claiming =>
      Effect.flatMap(claimBy(quick, request, isLazy), (rows): Claiming => {
        const [found] = rows
        if (found === undefined || found.decided) return Effect.succeed(rows)
        const hastened = found.late ? query(hasten, [millisOf(request.now), latestOf(request)]) : Effect.void
        return Effect.zipRight(hastened, claimBy(thorough, request, isLazy))
      })
    return {
      claim,
      queueing: (_, save) => save,
      alone: (effect) => effect,
      holding: (_, save) => save,
      repair: Effect.void
    }
  }
})

/** `decided`: these are what the thorough claim would find. `late`: there are deliveries to hasten. */
interface QuickRow extends ClaimRow {
  readonly decided: boolean
  readonly late: boolean
}

/**
 * Two ways to claim, of the same parameters and with the same answer. Parameters: those of `requestParameters`, whether the
 * commit need not wait for the disk, and the instant after which times have passed.
 *
 * `head` is only a hint: that nothing earlier of its object is pending is looked up for each candidate. Another node's
 * claim is skipped, not waited for. `candidates` is their number before that.
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

export const claimStatements = (p: string): ClaimStatements => {
  const heads = `${p}deliveries d WHERE d.state = 'p' AND d.head`
  // Rows are compared and ordered by all columns of one index, so that the planner takes that one, whatever it expects to
  // find: by equal columns, any index that has the last ones in order seems as good, and walks through a backlog. Without
  // an upper end, which is the delivery itself: PostgreSQL 15 and 16 go on until its first column changes.
  const isFirst = `d.id = (
      SELECT b.id FROM ${p}deliveries b
      WHERE (b.subscription_id, b.object_type, b.object_id) >= (d.subscription_id, d.object_type, d.object_id)
        AND b.state = 'p'
      ORDER BY b.subscription_id, b.object_type, b.object_id, b.id LIMIT 1
    )`
  const allowances = `allowances AS MATERIALIZED (
    SELECT key::bigint AS subscription_id, value::integer AS allowance FROM json_each_text($6::json)
  )`
  const isFree = free("$8")
  // EXISTS would ignore the order, and read the whole table while the planner expects many of these deliveries.
  const latest = `SELECT d.id FROM ${heads} AND d.due_at > (SELECT $8::bigint) ORDER BY d.due_at, d.id LIMIT 1`
  const paused = `paused AS MATERIALIZED (${pausedText(p)})`
  const dueBy = (dueAt: string, id: string) =>
    `${heads} AND d.subscription_id >= w.subscription_id
        AND (d.subscription_id, d.due_at, d.id) <= (w.subscription_id, ${dueAt}, ${id}) AND ${isFree} AND ${isFirst}
      ORDER BY d.subscription_id, d.due_at, d.id`
  return {
    quick: {
      name: `${p}delivery_claim_quick`,
      text: `WITH ${allowances},
  ${paused},
  earliest AS MATERIALIZED (
    SELECT d.id, d.subscription_id, d.object_type, d.object_id, d.due_at
    FROM ${heads} AND d.due_at <= (SELECT $1::bigint) AND ${isFree}
    ORDER BY d.due_at, d.id LIMIT (SELECT $4::integer) + ${spare}
  ),
  allowed AS MATERIALIZED (
    SELECT d.* FROM (
      SELECT e.*, row_number() OVER (PARTITION BY e.subscription_id ORDER BY e.due_at, e.id) AS place FROM earliest e
    ) d LEFT JOIN allowances a USING (subscription_id)
    WHERE d.place <= coalesce(a.allowance, $5::integer) AND d.subscription_id NOT IN (SELECT id FROM paused)
    ORDER BY d.due_at, d.id LIMIT (SELECT $4::integer)
  ),
  firsts AS MATERIALIZED (SELECT d.id, d.due_at FROM allowed d WHERE ${isFirst}),
  judged AS MATERIALIZED (
    SELECT (f.count = $4::integer OR f.count = a.count AND e.count < $4::integer + ${spare}) AND NOT l.late AS decided, l.late
    FROM (SELECT count(*) FROM firsts) f, (SELECT count(*) FROM allowed) a, (SELECT count(*) FROM earliest) e,
      (SELECT (${latest}) IS NOT NULL AS late OFFSET 0) l
  ),
  candidates AS MATERIALIZED (SELECT id, due_at FROM firsts WHERE (SELECT decided FROM judged)),
  ${claimText(p, "$7", "$8")}, (SELECT decided FROM judged) AS decided, (SELECT late FROM judged) AS late`
    },
    thorough: {
      name: `${p}delivery_claim`,
      text: `WITH RECURSIVE waiting (subscription_id) AS (
    (SELECT d.subscription_id FROM ${heads} ORDER BY d.subscription_id, d.due_at, d.id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT d.subscription_id FROM ${heads} AND d.subscription_id > w.subscription_id
      ORDER BY d.subscription_id, d.due_at, d.id LIMIT 1
    ) FROM waiting w WHERE w.subscription_id IS NOT NULL
  ),
  ${allowances},
  ${paused},
  shares AS MATERIALIZED (
    SELECT w.subscription_id, w.allowance, c.due_at, c.id
    FROM (
      SELECT w.subscription_id, coalesce(a.allowance, $5::integer) AS allowance
      FROM waiting w LEFT JOIN allowances a USING (subscription_id)
      WHERE w.subscription_id NOT IN (SELECT id FROM paused)
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
    SELECT c.id, c.due_at FROM (SELECT DISTINCT subscription_id, allowance FROM shares) w LEFT JOIN bound ON true
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
      text: `UPDATE ${p}deliveries d SET due_at = $1::bigint WHERE d.id = ANY (ARRAY(
        SELECT d.id FROM ${heads} AND d.due_at > $2::bigint
        ORDER BY d.due_at, d.id LIMIT ${maxHastened} FOR NO KEY UPDATE SKIP LOCKED
      ))`
    }
  }
}
