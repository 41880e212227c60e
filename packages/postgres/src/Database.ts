/** The database as the stores use it: named statements with parameters, run on the fiber's open transaction if there is one. */
import { TransactionConnection } from "@effect/sql/SqlClient"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
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
    /** Runs a statement. `Row` is what its select list says: the one place where the driver's word is taken for it. */
    readonly query: <Row>(
      statement: Statement,
      parameters: ReadonlyArray<Parameter>
    ) => Effect.Effect<ReadonlyArray<Row>, StoreError>
    /** Runs an effect in a transaction; inside an open one, in a savepoint of it. */
    readonly transaction: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
    /** Says that there may be deliveries to claim: to this node at once, to the others a moment later. */
    readonly wake: Effect.Effect<void>
    readonly wakeUps: Stream.Stream<void>
  }

  /** How statements reach the database outside of a transaction. Rows are the driver's, hence `any`. */
  export type Direct = (
    statement: Statement,
    parameters: ReadonlyArray<Parameter>
    // oxlint-disable-next-line typescript/no-explicit-any -- the driver's rows are untyped
  ) => Effect.Effect<ReadonlyArray<any>, SqlError>
}

/** Whether the fiber is inside `SqlClient.withTransaction`: then it must not leave that connection. */
export const isJoined: Effect.Effect<boolean> = Effect.withFiberRuntime((fiber) =>
  Effect.succeed(Option.isSome(Context.getOption(fiber.currentContext, TransactionConnection)))
)

const toStoreError = (cause: unknown) => new StoreError({ cause })

/** A database over a client, and a direct way for what is outside of transactions. */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly prefix: string
  readonly direct: Database.Direct
  readonly wake: Effect.Effect<void>
  readonly wakeUps: Stream.Stream<void>
}): Database.Service => {
  const { direct, prefix, sql, wake, wakeUps } = options
  return {
    prefix,
    wake,
    wakeUps,
    query: (statement, parameters) =>
      Effect.withFiberRuntime((fiber) => {
        const joined = Context.getOption(fiber.currentContext, TransactionConnection)
        return Effect.mapError(
          Option.isSome(joined)
            ? joined.value[0].execute(statement.text, parameters, undefined)
            : Effect.retry(direct(statement, parameters), { times: 3, while: isRetryable }),
          toStoreError
        )
      }),
    // A COMMIT that fails is a defect in @effect/sql.
    transaction: (effect) =>
      Effect.flatMap(isJoined, (joined) => {
        const transaction = sql.withTransaction(effect).pipe(
          Effect.catchIf(isSqlError, (error) => Effect.fail(toStoreError(error))),
          Effect.catchAllDefect((defect) => Effect.fail(toStoreError(defect)))
        )
        return joined ? transaction : within(transaction)
      })
  }
}

const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"
