/**
 * What depends on where the rows are. A statement is written once, over the parts of a dialect, or once per dialect.
 *
 * - `server.ts`: all rows are on one server. Statements lock rows, and look each row up by an index.
 * - `citus.ts`: Citus divides the tables into shards on several servers, as partitions do on one: grants by user, subscriptions
 *   and deliveries by application. Rows can be locked in one shard only, and a lateral join must have no limit.
 */
import type * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import type { ClaimRequest } from "@startlist/core/DeliveryQueue"
import type { Event } from "@startlist/core/Event"
import type { StoreError } from "@startlist/core/Store"
import type { UserId } from "@startlist/core/User"
import type { Parameter, Runner } from "../statement.ts"
import type { AttemptRow, EventRow } from "../rows.ts"

/** The parts of statements, and the steps of calls, that depend on where the rows are. */
export interface Dialect {
  /** Prefix of every table name. */
  readonly prefix: string
  /** Whether the tables are divided into shards or partitions. */
  readonly isDivided: boolean
  /** Number of the shard of a user's grants, from 0, to group calls by it. None if there is one. */
  readonly shardOf: ((userId: UserId) => number) | undefined
  /** A locking clause, where rows can be locked. */
  readonly rowLock: (clause: string) => string
  /**
   * The beginning of a condition on identifiers: the parameter that names their application, where rows are found by it. One
   * server finds them by identifier alone: while the statistics are old, PostgreSQL 15 and 16 use the index of any other
   * condition, and read all rows of an application, or all pending ones.
   */
  readonly ofApplication: (parameter: string) => string
  /**
   * The condition of an update of all deliveries about registrations. `ids` is the parameter with their identifiers, as JSON.
   * Locks the rows in the order of settling, where rows of all applications can be locked.
   */
  readonly aboutRegistrations: (ids: string) => string
  /** A join of `alias`, rows of `table` that fulfil a condition. `lock` keeps them, where rows can be locked. */
  readonly lookup: (table: string, alias: string, condition: string, lock?: string) => string
  /** A condition that names the users of a batch again: their identifiers are the parameter `users`. */
  readonly ofUsers: (column: string, users: string) => string
  /** The parameter of `ofUsers`, if there is one. */
  readonly usersParameter: (userIds: ReadonlyArray<UserId>) => ReadonlyArray<Parameter>
  /** CTEs; the last one, `blocked_keys`, has the ordering keys of `targets` that have a pending first delivery. */
  readonly blockedKeys: string
  /** The next pending delivery of each ordering key after ended deliveries `e`, with its application. */
  readonly next: (ended: string) => string
  /** PL/pgSQL before attempts are recorded. */
  readonly beforeSettling: string
  /** What `beforeSettling` needs of a settlement's event. */
  readonly objectOf: (event: Event) => string | undefined
  /** The steps of calls, with a database. */
  readonly steps: (database: Runner) => Steps
}

/** Steps of calls, beside the statements that all dialects share. */
export interface Steps {
  /** Claims. `isLazy`: the commit need not wait for the disk. */
  readonly claim: (request: ClaimRequest, isLazy: boolean) => Claiming
  /**
   * Runs a save that queues events: not while a subscription is removed, or while a delivery of the same object ends. Its
   * statement sees what these did.
   */
  readonly queueing: <A, E>(events: ReadonlyArray<Event>, save: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
  /** Runs an effect while no save queues events, and no delivery ends. */
  readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
  /** Runs a save that depends on the state of an application, which does not change in the meantime. */
  readonly holding: <A, E>(id: ApplicationId, save: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
  /** Repairs what a commit in doubt may have left. */
  readonly repair: Effect.Effect<void, StoreError>
}

/** A subscription, and the signing secrets of its application. */
export type Versions = readonly [applicationId: number, id: number, version: number, signingVersion: number]

/** A claimed delivery. */
export interface DeliveryOfClaim extends EventRow {
  readonly id: number
  readonly subscription_id: number
  readonly due_at: number
  readonly attempts: ReadonlyArray<AttemptRow> | null
  readonly claims: number
}

/** The answer of a claim. No deliveries, but candidates: other nodes have claimed or postponed all of them. */
export interface ClaimRow {
  readonly candidates: number
  readonly deliveries: ReadonlyArray<DeliveryOfClaim> | null
  readonly subscriptions: ReadonlyArray<Versions> | null
}

export type Claiming = Effect.Effect<ReadonlyArray<ClaimRow>, StoreError>
