/** Statements: what runs them, the fiber that calls, and how they fail. Only this module uses internals of fibers. */
import { TransactionConnection } from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { StoreError } from "@startlist/core/Store"

/** An SQL statement with `$1`, `$2`, … and the name of its prepared statement. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Parameters of a statement: numbers, booleans and text. Sets are sent as JSON text. */
export type Parameter = string | number | boolean | null

/** Runs statements, in the fiber's open transaction, if there is one. */
export interface Runner {
  /** Runs a statement. `Row` describes its select list; rows are not validated. */
  readonly query: <Row>(
    statement: Statement,
    parameters: ReadonlyArray<Parameter>
  ) => Effect.Effect<ReadonlyArray<Row>, StoreError>
  /**
   * Runs an effect in a transaction, or in a savepoint of an open one. It begins with the first statement: before
   * that, the effect holds no connection, for example while it hashes a password. The effect runs again, at most twice,
   * if the server ends its transaction because of a deadlock.
   */
  readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
}

/** A column of the rows that a statement returns. */
export interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** Reads a row from its texts. */
export const toRow = (columns: ReadonlyArray<Column>, texts: ReadonlyArray<string | null>): object => {
  const row: Record<string, unknown> = {}
  columns.forEach(({ name, parse }, index) => {
    const text = texts[index]
    row[name] = text === null || text === undefined ? null : parse(text)
  })
  return row
}

/** A fiber. */
export type Caller = Fiber.RuntimeFiber<unknown, unknown>

/** Runs what depends on the caller. On the hot path, this costs less than an effect that asks for it. */
export const withCaller = <A, E>(use: (caller: Caller) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiberRuntime(use)

/** The connection of the caller's open transaction (`SqlClient.withTransaction`), if there is one, and its depth. */
export const transactionOf = (
  { currentContext }: Caller
): Option.Option<Context.Tag.Service<typeof TransactionConnection>> =>
  Context.getOption(currentContext, TransactionConnection)

/** Whether the caller is in a transaction, and must use its connection. */
export const isJoined = (caller: Caller): boolean => Option.isSome(transactionOf(caller))

/** Whether the caller has ended, so that nobody waits. A finalizer for each call would cost more than the rest of it. */
export const isAbandoned = (caller: Caller): boolean => caller.unsafePoll() !== null

/**
 * The COMMIT of a transaction. PostgreSQL answers the plain one without an error, and rolls back, if a statement of the
 * transaction has failed: a caller that ignored the failure would be told that the rest was done. The empty statement fails
 * then.
 */
export const checkedCommit = "SELECT; COMMIT"

/** The SQLSTATE of an error of the server. None for errors of the connection. */
const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9][0-9A-Z]{4}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

/** Deadlocks and serialization failures: nothing was done, and a retry may succeed. */
export const isRetryable = (error: unknown): boolean => sqlState(error)?.startsWith("40") ?? false

/** A value of the call is refused: data exceptions, and limits such as the size of an index entry. Nothing was done. */
export const isBadValue = (error: unknown): boolean => /^(?:22|54)/.test(sqlState(error) ?? "")

/** The statement has reached its lock timeout. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03"

/**
 * Another session has just changed the same definition: "tuple concurrently updated", an internal error without a SQLSTATE
 * of its own. Messages are translated, so this looks at the function that reports it.
 */
export const isDefinitionChanged = (error: unknown): boolean =>
  typeof error === "object" && error !== null && ("routine" in error && typeof error.routine === "string"
    ? /^simple_heap_(update|delete)$/.test(error.routine)
    : "cause" in error && isDefinitionChanged(error.cause))

/** A table of the statement does not exist. */
export const isMissingTable = (error: unknown): boolean => sqlState(error) === "42P01"

/**
 * The server has refused the statement, so its parts may be tried one by one. Class 08 is that of a coordinator whose worker
 * does not answer: parts that do not need that worker succeed. 08P01 is that of a pooler which has lost the server: the
 * outcome is unknown.
 */
export const isRefused = (error: unknown): boolean => /^(?:08(?!P01)|21|22|23|40|42)/.test(sqlState(error) ?? "")

/** Timeout of a store call, in real time for any clock of the program: leaves a second to answer within five. */
export const deadlineMillis = 4000

export const timedOut = () => new StoreError({ cause: new Error("the database did not answer in time") })

/**
 * Ends an effect at the deadline, also if its caller cannot be interrupted, or when its caller is interrupted. Its
 * statement ends by itself in the background.
 */
export const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) => {
      const ended = Effect.async<A, E | StoreError>((resume) => {
        const timer = setTimeout(() => resume(Effect.fail(timedOut())), deadlineMillis)
        fiber.addObserver((exit) => {
          clearTimeout(timer)
          resume(exit)
        })
        return Effect.sync(() => clearTimeout(timer))
      })
      return Effect.onError(restore(ended), () => Fiber.interruptFork(fiber))
    })
  )

/** The stores cannot use this database. */
export class UnusableDatabase extends Error {
  override readonly name = "UnusableDatabase"
  /** Whether another server of the database may be usable. */
  readonly isOfServer: boolean
  constructor(message: string, isOfServer = false) {
    super(message)
    this.isOfServer = isOfServer
  }
}

/** The `UnusableDatabase` that has caused an error, if there is one. */
export const findUnusable = (error: unknown): UnusableDatabase | undefined =>
  error instanceof UnusableDatabase ? error : error instanceof Error ? findUnusable(error.cause) : undefined
