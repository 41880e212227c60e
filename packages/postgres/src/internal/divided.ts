/**
 * SQL for tables that are divided into partitions, or by Citus into shards on several servers. There, a statement can lock
 * rows of one application only, and Citus refuses lateral joins with a limit.
 */
import type { Event } from "@startlist/core/Event"
import type { StoreError } from "@startlist/core/Store"
import type { UserId } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import type { Database, Layout, Parameter } from "../Database.ts"
import { fromEvent } from "./rows.ts"

/** A locking clause, where rows can be locked. Elsewhere `Locks` take its place. */
export const rowLock = ({ isDivided }: Layout, clause: string): string => isDivided ? "" : clause

/**
 * A join of `alias`, rows of `table` that fulfil a condition. A lateral lookup uses an index for any number of rows that
 * the planner expects from JSON. OFFSET and a lock keep it from being joined in another way.
 */
export const lookup = (layout: Layout, table: string, alias: string, condition: string, lock = "OFFSET 0"): string => {
  const name = `${layout.prefix}${table} ${alias}`
  return layout.isDivided
    ? `JOIN ${name} ON ${condition}`
    : `CROSS JOIN LATERAL (SELECT * FROM ${name} WHERE ${condition} ${lock}) ${alias}`
}

/**
 * The condition that `column` is one of the users of a batch, whose identifiers are the parameter `users`. The other conditions
 * imply it, but a cluster reads only the shards that a condition like this names.
 */
export const ofUsers = ({ isDivided }: Layout, column: string, users: string): string =>
  isDivided ? `AND ${column} = ANY (${users}::bigint[])` : ""

/** The parameter of `ofUsers`, if there is one. */
export const usersParameter = ({ isDivided }: Layout, userIds: ReadonlyArray<UserId>): ReadonlyArray<Parameter> =>
  isDivided ? [`{${userIds.join(",")}}`] : []

/** Shared by all changes of the queue but removals and cancellations, which have it alone. */
const all = (p: string): string => `hashtextextended('${p}queue', 0)`
const lockOf = (p: string, object: string): string => `hashtextextended('${p}object ' || ${object}, 0)`

/** The object of an event, as a part of the name of its lock. */
export const objectOf = (event: Event): string => {
  const { object_id: id, object_type: type } = fromEvent(event)
  return `${type}${id}`
}

/**
 * Locks the objects of ended deliveries for the rest of a transaction, in PL/pgSQL. `ended` is a table `e` with the column
 * `object`, of `objectOf`.
 */
export const lockEnded = (p: string, ended: string): string => `
  PERFORM pg_advisory_xact_lock_shared(${all(p)});
  PERFORM pg_advisory_xact_lock(key)
  FROM (SELECT DISTINCT ${lockOf(p, "e.object")} AS key FROM ${ended} ORDER BY key OFFSET 0) o`

export interface Locks {
  /**
   * Runs a save that queues events: not while a subscription is removed, or while a delivery of the same object ends.
   * Its statement begins after it has the locks, so it sees what the others did.
   */
  readonly queueing: <A, E>(events: ReadonlyArray<Event>, save: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
  /** Runs an effect while no save queues events, and no delivery ends. */
  readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
}

/** Locks of divided tables. Elsewhere, statements lock rows. */
export const locks = ({ isDivided, prefix: p, query, transaction }: Database.Service): Locks => {
  const share = {
    name: `${p}lock_objects`,
    text: `WITH queue AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${all(p)})::text AS locked)
      SELECT count(pg_advisory_xact_lock_shared(key)::text) FROM queue, (
        SELECT DISTINCT ${lockOf(p, "o.value")} AS key FROM json_array_elements_text($1::json) o ORDER BY key OFFSET 0
      ) o WHERE queue.locked IS NOT NULL`
  }
  const exclude = { name: `${p}lock_queue`, text: `SELECT pg_advisory_xact_lock(${all(p)})::text` }
  return {
    queueing: (events, save) =>
      isDivided && events.length > 0
        ? transaction(Effect.zipRight(query(share, [JSON.stringify(events.map(objectOf))]), save))
        : save,
    alone: (effect) => isDivided ? transaction(Effect.zipRight(query(exclude, []), effect)) : effect
  }
}
