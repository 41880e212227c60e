/** The database as the stores use it: named statements with parameters, run on the fiber's open transaction if there is one. */
import { TransactionConnection } from "@effect/sql/SqlClient"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { isRetryable } from "./internal/sqlState.ts"
import { within } from "./internal/deadline.ts"

/** One SQL statement with `$1`, `$2`, … and the name under which a connection keeps it prepared. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** What a statement is run with: numbers, booleans and text; sets travel as JSON text. */
export type Parameter = string | number | boolean | null

/** What the stores share. Made by the layers of `Postgres` and `Embedded`; `Postgres.ready` needs it. */
export class Database extends Context.Tag("@startlist/postgres/Database")<Database, Database.Service>() {}

export declare namespace Database {
  export interface Service {
    /** In front of every table name. */
    readonly prefix: string
    /** Runs a statement. `Row` describes its select list; rows are not validated. */
    readonly query: <Row>(
      statement: Statement,
      parameters: ReadonlyArray<Parameter>
    ) => Effect.Effect<ReadonlyArray<Row>, StoreError>
    /**
     * Runs an effect in a transaction; inside an open one, in a savepoint of it. It begins with the first statement: what
     * the effect does before that, such as hashing a password, holds no connection.
     */
    readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
    /** Runs an effect after the caller's transaction has been committed; immediately, without a transaction. */
    readonly afterCommit: (effect: Effect.Effect<void>) => Effect.Effect<void>
    /** Signals that there may be deliveries to claim: to this node immediately, to other nodes a moment later. */
    readonly wake: Effect.Effect<void>
    readonly wakeUps: Stream.Stream<void>
    /** Whether it works in this process, on this thread: then nothing else happens while a statement runs. */
    readonly isInProcess: boolean
    /** The connections of the pool now; none if there is no pool of ours. */
    readonly connections: Effect.Effect<Option.Option<Connections>>
    /**
     * Copies the database's folder to a path that does not exist yet; none if the database is not embedded. No statement
     * runs during the copy. A copy that failed, or was interrupted, is incomplete.
     */
    readonly copyFiles: Option.Option<(path: string) => Effect.Effect<void, StoreError>>
  }

  /** Connections of a pool, and how many statements wait for one. */
  export interface Connections {
    readonly open: number
    readonly idle: number
    readonly waiting: number
  }

  /** How statements reach the database outside of a transaction. Rows are the driver's, hence `any`. */
  export type Direct = (
    statement: Statement,
    parameters: ReadonlyArray<Parameter>
    // oxlint-disable-next-line typescript/no-explicit-any -- the driver's rows are untyped
  ) => Effect.Effect<ReadonlyArray<any>, SqlError>
}

/** The connection of the open transaction that the fiber is inside of (`SqlClient.withTransaction`), if there is one. */
const joined = (fiber: Fiber.RuntimeFiber<unknown, unknown>) =>
  Context.getOption(fiber.currentContext, TransactionConnection)

/** Whether the fiber is inside `SqlClient.withTransaction`: then it must not leave that connection. */
export const isJoined = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean => Option.isSome(joined(fiber))

/** Effects to run after the commit of the open transaction. */
class AfterCommit extends Context.Tag("@startlist/postgres/AfterCommit")<AfterCommit, Array<Effect.Effect<void>>>() {}

/** A connection that is there when the first statement needs it. */
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
      // Not to be interrupted, as everybody after would get the interruption of the first.
      const acquire = yield* Effect.cached(Effect.uninterruptible(
        Effect.tap(Scope.extend(sql.reserve, scope), (connection) =>
          Effect.tap(connection.executeUnprepared("BEGIN", [], undefined), () => {
            open = connection
          }))
      ))
      const after: Array<Effect.Effect<void>> = []
      const exit = yield* restore(effect).pipe(
        Effect.provideService(TransactionConnection, [lazily(acquire), 0]),
        Effect.provideService(AfterCommit, after),
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
      yield* Effect.all(after, { discard: true })
      return exit.value
    })
  )

const toStoreError = (cause: unknown) => new StoreError({ cause })

/** A database over a client, and a direct way for what is outside of transactions. */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly prefix: string
  readonly direct: Database.Direct
  readonly wake: Effect.Effect<void>
  readonly wakeUps: Stream.Stream<void>
  readonly isInProcess?: boolean
  readonly connections?: Effect.Effect<Database.Connections>
  readonly copyFiles?: (path: string) => Effect.Effect<void, StoreError>
}): Database.Service => {
  const { connections, copyFiles, direct, isInProcess = false, prefix, sql, wake, wakeUps } = options
  return {
    prefix,
    isInProcess,
    wake,
    wakeUps,
    connections: connections === undefined ? Effect.succeedNone : Effect.asSome(connections),
    copyFiles: Option.fromNullable(copyFiles),
    query: (statement, parameters) =>
      Effect.withFiberRuntime((fiber) => {
        const transaction = joined(fiber)
        const once = Option.isSome(transaction)
          ? transaction.value[0].execute(statement.text, parameters, undefined)
          : direct(statement, parameters)
        // A schedule is made only when it is needed: it costs more than all else here.
        return Effect.catchAll(once, (error) =>
          Option.isNone(transaction) && isRetryable(error)
            ? Effect.mapError(Effect.retry(once, { times: 2, while: isRetryable }), toStoreError)
            : Effect.fail(toStoreError(error)))
      }),
    transaction: (effect) =>
      Effect.withFiberRuntime((fiber) => {
        const isInner = isJoined(fiber)
        const transaction = (isInner ? sql.withTransaction(effect) : begun(sql, effect)).pipe(
          Effect.catchIf(isSqlError, (error) => Effect.fail(toStoreError(error))),
          Effect.catchAllDefect((defect) => Effect.fail(toStoreError(defect)))
        )
        return isInner ? transaction : within(transaction)
      }),
    afterCommit: (effect) =>
      Effect.withFiberRuntime((fiber) => {
        const after = Context.getOption(fiber.currentContext, AfterCommit)
        return Option.isSome(after) ? Effect.sync(() => void after.value.push(effect)) : effect
      })
  }
}

const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"
