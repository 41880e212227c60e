/** The database of the stores: named statements with parameters, which run in the fiber's open transaction, if any. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as PubSub from "effect/PubSub"
import * as Runtime from "effect/Runtime"
import { TransactionConnection } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import * as Citus from "./internal/dialect/citus.ts"
import * as Server from "./internal/dialect/server.ts"
import type { Dialect } from "./internal/dialect/Dialect.ts"
import {
  isBadValue,
  isJoined,
  isRetryable,
  type Parameter,
  type Runner,
  type Statement,
  transactionOf,
  withCaller,
  within
} from "./internal/statement.ts"

/** What the database runs. */
export type { Parameter, Statement } from "./internal/statement.ts"

/**
 * The database that the stores share. The layers of `Postgres` and `Embedded` create it; `Postgres.ready` needs it.
 *
 * @example
 * ```ts
 * import { Database } from "@startlist/postgres"
 * import { Effect } from "effect"
 *
 * // One row with the number of live applications. It joins an open transaction.
 * export const count = Effect.flatMap(Database.Database, ({ prefix, query }) =>
 *   query<{ readonly count: number }>({
 *     name: "club_applications",
 *     text: `SELECT count(*)::integer AS count FROM ${prefix}applications WHERE state <> 'e'`
 *   }, []))
 * ```
 */
export class Database extends Context.Tag("@startlist/postgres/Database")<Database, Database.Service>() {}

export declare namespace Database {
  export interface Service extends Runner {
    /** Prefix of every table name. */
    readonly prefix: string
    /** What depends on where the rows are. */
    readonly dialect: Dialect
    /** Signals that there may be deliveries to claim: to this node immediately, to other nodes a moment later. */
    readonly wake: Effect.Effect<void>
    /** Hints of this and of other nodes that there may be deliveries to claim. Some may be lost. */
    readonly wakeUps: Stream.Stream<void>
    /** Whether the database runs on this thread, so that a statement blocks everything else. */
    readonly isInProcess: boolean
    /** Present connections of our pool, if there is one. */
    readonly connections: Effect.Effect<Option.Option<Connections>>
    /**
     * Copies the database's folder to a path that does not exist yet. None if the database is not embedded. No
     * statement runs during the copy. A failed or interrupted copy is incomplete.
     */
    readonly copyFiles: Option.Option<(path: string) => Effect.Effect<void, StoreError>>
  }

  /** Numbers of connections of a pool, and of statements that wait for one. */
  export interface Connections {
    /** Used or idle. */
    readonly open: number
    /** Not in use. */
    readonly idle: number
    /** Statements without a connection. */
    readonly waiting: number
  }

  /** Runs statements outside of a transaction. Rows are the driver's, hence `any`. */
  export type Direct = (
    statement: Statement,
    parameters: ReadonlyArray<Parameter>
    // oxlint-disable-next-line typescript/no-explicit-any -- the driver's rows are untyped
  ) => Effect.Effect<ReadonlyArray<any>, SqlError>
}

/**
 * Seconds by which the clock of this process is ahead of that of the database, negative if it is behind. At least: the
 * database reads its clock at an unknown moment of the call. 0 in this process.
 */
export const clockDifference: Effect.Effect<number, StoreError, Database> = Effect.gen(function*() {
  const { isInProcess, prefix, query } = yield* Database
  if (isInProcess) return 0
  const before = yield* Clock.currentTimeMillis
  const [row] = yield* query<{ readonly now: number }>({
    name: `${prefix}clock`,
    text: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now"
  }, [])
  const after = yield* Clock.currentTimeMillis
  const now = row?.now ?? after
  return (Math.max(0, before - now) + Math.min(0, after - now)) / 1000
})

/** Rows that need more than their memory, so that 256 KiB of them go to a temporary file: without a trace, also in the log. */
const spill = `WITH setting AS MATERIALIZED (SELECT set_config('work_mem', '64kB', true) AS memory)
  SELECT count(*) FROM setting, unnest(array_fill(repeat(memory, 500), ARRAY[128])) text`

/**
 * Writes without changing anything. Fails if the database is read-only, such as a standby, or if its disk is full: a changed
 * row alone uses the space of its older versions, until the log needs space.
 */
export const writable: Effect.Effect<void, StoreError, Database> = Effect.flatMap(
  Database,
  ({ prefix, query }) =>
    Effect.zipRight(
      query({
        name: `${prefix}writable`,
        text: `UPDATE ${prefix}migrations SET name = name WHERE name = '0001_initial'`
      }, []),
      Effect.asVoid(query({ name: `${prefix}spill`, text: spill }, []))
    )
)

/** Ends an effect at the deadline. Inside a transaction it ends with that, because both use one connection. */
export const inTime = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  withCaller((caller) => isJoined(caller) ? effect : within(effect))

/** A connection that is opened for the first statement. */
const lazily = (acquire: Effect.Effect<Connection, SqlError>): Connection => ({
  execute: (...asked) => Effect.flatMap(acquire, (connection) => connection.execute(...asked)),
  executeRaw: (...asked) => Effect.flatMap(acquire, (connection) => connection.executeRaw(...asked)),
  executeValues: (...asked) => Effect.flatMap(acquire, (connection) => connection.executeValues(...asked)),
  executeUnprepared: (...asked) => Effect.flatMap(acquire, (connection) => connection.executeUnprepared(...asked)),
  executeStream: (...asked) => Stream.unwrap(Effect.map(acquire, (connection) => connection.executeStream(...asked)))
})

/** Runs an effect in a transaction that begins with its first statement. */
const begun = <A, E>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      let open: Connection | undefined
      // Uninterruptible, because later statements would get the interruption of the first.
      const acquire = yield* Effect.cached(Effect.uninterruptible(
        Effect.tap(Scope.extend(sql.reserve, scope), (connection) => {
          open = connection
          return connection.executeUnprepared("BEGIN", [], undefined)
        })
      ))
      const exit = yield* restore(effect).pipe(
        Effect.provideService(TransactionConnection, [lazily(acquire), 0]),
        Effect.exit
      )
      const end = Effect.suspend(() =>
        open?.executeUnprepared(Exit.isSuccess(exit) ? "COMMIT" : "ROLLBACK", [], undefined) ?? Effect.void
      )
      const ended = yield* Effect.exit(end)
      yield* Scope.close(scope, ended)
      if (Exit.isFailure(exit)) {
        return yield* exit
      }
      yield* ended
      return exit.value
    })
  )

/** Runs what a deadlock has ended, at most twice: nothing of it was done. */
const again = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.retry(effect, { times: 1, while: isRetryable })

const toStoreError = (cause: unknown) => new StoreError(isBadValue(cause) ? { cause, isRefused: true } : { cause })

/** A database with a client, and a direct connection for statements outside of transactions. */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly prefix: string
  readonly shardCount?: number
  readonly direct: Database.Direct
  readonly wake: Effect.Effect<void>
  readonly wakeUps: Stream.Stream<void>
  readonly isInProcess?: boolean
  readonly connections?: Effect.Effect<Database.Connections>
  readonly copyFiles?: (path: string) => Effect.Effect<void, StoreError>
}): Database.Service => {
  const { connections, copyFiles, direct, isInProcess = false, prefix, shardCount = 0, sql, wake, wakeUps } = options
  return {
    prefix,
    dialect: shardCount > 0 ? Citus.make(prefix, shardCount) : Server.make(prefix),
    isInProcess,
    wake,
    wakeUps,
    connections: connections === undefined ? Effect.succeedNone : Effect.asSome(connections),
    copyFiles: Option.fromNullable(copyFiles),
    query: (statement, parameters) =>
      withCaller((caller) => {
        const transaction = transactionOf(caller)
        const once = Option.isSome(transaction)
          ? transaction.value[0].execute(statement.text, parameters, undefined)
          : direct(statement, parameters)
        return Effect.catchAll(once, (error) =>
          Option.isNone(transaction) && isRetryable(error)
            ? Effect.mapError(again(once), toStoreError)
            : Effect.fail(toStoreError(error)))
      }),
    transaction: (effect) =>
      withCaller((caller) => {
        const isInner = isJoined(caller)
        const own = begun(sql, effect)
        const run = isInner ? sql.withTransaction(effect) : Effect.catchIf(own, isRetryable, () => again(own))
        return run.pipe(
          Effect.catchIf(isSqlError, (error) => Effect.fail(toStoreError(error))),
          Effect.catchAllDefect((defect) => Effect.fail(toStoreError(defect))),
          inTime
        )
      })
  }
}

const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"

// Hints that there may be deliveries to claim. They are not reliable: workers also poll.

/** Minimum interval between hints to other nodes. */
const throttleMillis = 20

/** Hints between the stores and the workers of this and of other nodes. */
export interface WakeUps {
  readonly wake: Effect.Effect<void>
  readonly wakeUps: Stream.Stream<void>
  /** Handles a hint from another node. */
  readonly heard: () => void
}

/**
 * Wakes this node immediately. After a short time, which merges further hints, wakes it again (the transaction of the
 * hint may not have been committed before) and the other nodes with `notify`.
 */
export const makeWakeUps = (notify: Effect.Effect<void, SqlError>): Effect.Effect<WakeUps, never, Scope.Scope> =>
  Effect.gen(function*() {
    const changes = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    // `publish` makes room. An unsafe offer fails for all listeners while one of them is busy.
    const heard = () => {
      runFork(PubSub.publish(changes, undefined))
    }
    let timer: NodeJS.Timeout | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => clearTimeout(timer)))
    const wake = Effect.sync(() => {
      heard()
      timer ??= setTimeout(() => {
        timer = undefined
        heard()
        runFork(Effect.ignore(notify))
      }, throttleMillis)
    })
    return { wake, wakeUps: Stream.fromPubSub(changes), heard }
  })
