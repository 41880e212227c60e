/** Statements, and what runs them. */
import type * as Effect from "effect/Effect"
import type { StoreError } from "@startlist/core/Store"

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
