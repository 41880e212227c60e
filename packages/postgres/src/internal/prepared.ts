/**
 * Prepared statements on connections of `pg`, which prepares each on first use and reads its columns. Later runs omit
 * the columns, which take longer than one row. They cannot change: the server then refuses the prepared statement.
 *
 * Not the statements of `@effect/sql-pg`: they are planned each time, and nearly halve the rate of rotations.
 */
import * as Pg from "pg"
import type { Parameter, Statement } from "../Database.ts"
import { type Column, toRow } from "./statement.ts"

/** Either an error or rows. */
type Callback = (error: Error | null | undefined, rows?: ReadonlyArray<object>) => void

/** The columns of prepared statements on a connection, by name. */
const prepared = new WeakMap<Pg.ClientBase, Map<string, ReadonlyArray<Column>>>()

/** Runs a statement on a connection. */
export const run = (
  client: Pg.ClientBase,
  { name, text }: Statement,
  parameters: ReadonlyArray<Parameter>,
  callback: Callback
): void => {
  if (name === "") {
    client.query(text, [...parameters], (error, result) => error ? callback(error) : callback(undefined, result.rows))
    return
  }
  const known = prepared.get(client) ?? new Map<string, ReadonlyArray<Column>>()
  const columns = known.get(name)
  if (columns !== undefined) {
    client.query(new Execution(name, parameters, columns, callback))
    return
  }
  client.query({ name, text, values: [...parameters] }, (error, result) => {
    if (error) return callback(error)
    prepared.set(client, known.set(name, result.fields.map(toColumn)))
    callback(undefined, result.rows)
  })
}

const toColumn = ({ dataTypeID, name }: Pg.FieldDef): Column => ({
  name,
  parse: Pg.types.getTypeParser(dataTypeID, "text")
})

/** A prepared statement on its way. `pg` calls it for each part of the answer. */
class Execution implements Pg.Submittable {
  readonly #name: string
  #parameters: ReadonlyArray<Parameter>
  readonly #columns: ReadonlyArray<Column>
  #rows: Array<object> = []
  #failure: Error | undefined
  #end: Callback | undefined
  /**
   * `pg` wraps it in its own callback, which ends the wait for a silent server. Node 20 keeps that until its next full
   * collection, so it must not refer to rows and callers: they would fill the old generation.
   */
  callback: Callback = (error, rows) => {
    const end = this.#end
    this.#end = undefined
    this.#rows = []
    this.#parameters = []
    end?.(error, rows)
  }

  constructor(name: string, parameters: ReadonlyArray<Parameter>, columns: ReadonlyArray<Column>, callback: Callback) {
    this.#name = name
    this.#parameters = parameters
    this.#columns = columns
    this.#end = callback
  }

  submit(connection: Pg.Connection): void {
    connection.stream.cork()
    connection.bind({ statement: this.#name, values: this.#parameters.map(toText) }, true)
    connection.execute(null, true)
    connection.sync()
    connection.stream.uncork()
  }

  handleDataRow({ fields }: { readonly fields: ReadonlyArray<string | null> }): void {
    if (this.#failure !== undefined) return
    try {
      this.#rows.push(toRow(this.#columns, fields))
    } catch (cause) {
      this.#failure = new Error("a row cannot be read", { cause })
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#rows)
  }
}

const toText = (parameter: Parameter): string | null => parameter === null ? null : String(parameter)
