/** Prepared statements in PGlite, whose own `query` parses and plans a statement each time. */
import { type messages, type PGlite, protocol } from "@electric-sql/pglite"
import { type Column, toRow } from "./columns.ts"

const { serialize } = protocol

interface Prepared {
  readonly name: string
  /** Types of the parameters. */
  readonly types: ReadonlyArray<number>
  readonly columns: ReadonlyArray<Column>
}

/** Maximum number of prepared statements. The one that was not used for the longest time is dropped. */
const maxPrepared = 200

/** A table was changed since the statement was prepared. */
const hasChanged = (error: unknown): boolean =>
  error instanceof Error && error.message === "cached plan must not change result type"

/** Runs a statement. Returns its rows. */
export type Run = (text: string, parameters: ReadonlyArray<unknown>) => Promise<ReadonlyArray<object>>

/** Runs statements of the only connection, one at a time. Prepares each at its first use. */
export const makeRun = (pg: PGlite): Run => {
  const known = new Map<string, Prepared>()
  let lastName = 0

  const ask = (...parts: ReadonlyArray<Uint8Array>) =>
    pg.execProtocolStream(Buffer.concat([...parts, serialize.sync()]), { throwOnError: true })

  const forget = async (text: string): Promise<void> => {
    const name = known.get(text)?.name
    known.delete(text)
    if (name !== undefined) await ask(serialize.close({ type: "S", name }))
  }

  const prepare = async (text: string): Promise<Prepared> => {
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= maxPrepared) await forget(oldest)
    const name = `s${++lastName}`
    const answer = await ask(serialize.parse({ name, text }), serialize.describe({ type: "S", name }))
    const parameters = answer.find((message): message is messages.ParameterDescriptionMessage =>
      message.name === "parameterDescription"
    )
    const rows = answer.find((message): message is messages.RowDescriptionMessage => message.name === "rowDescription")
    return {
      name,
      types: parameters?.dataTypeIDs ?? [],
      columns: (rows?.fields ?? []).map(({ dataTypeID, name }) => ({ name, parse: pg.parsers[dataTypeID] ?? String }))
    }
  }

  const execute: Run = async (text, parameters) => {
    const prepared = known.get(text) ?? await prepare(text)
    // Move it to the end, so that the first is the one to drop.
    known.delete(text)
    known.set(text, prepared)
    const values = parameters.map((value, index) => {
      if (value === null || value === undefined) return null
      const toText = pg.serializers[prepared.types[index] ?? 0]
      return toText === undefined ? String(value) : toText(value)
    })
    const answer = await ask(serialize.bind({ statement: prepared.name, values }), serialize.execute({}))
    const rows: Array<object> = []
    for (const message of answer) {
      if (message.name === "dataRow") rows.push(toRow(prepared.columns, (message as messages.DataRowMessage).fields))
    }
    return rows
  }

  return (text, parameters) =>
    execute(text, parameters).catch(async (error: unknown) => {
      if (!hasChanged(error)) throw error
      await forget(text)
      // The error has ended a transaction, but the next one succeeds.
      if (pg.isInTransaction()) throw error
      return execute(text, parameters)
    })
}
