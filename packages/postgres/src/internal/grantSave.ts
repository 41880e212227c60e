/** The statement that saves grants with their events. Each row is saved if its own version matches. */
import type { Change } from "@startlist/core/Grant"
import * as Batch from "./batch.ts"
import type { Dialect } from "./dialect/Dialect.ts"
import { keyColumns, valueColumns } from "./grantRows.ts"
import { outbox, outgoingParameter } from "./queue.ts"
import type { Parameter, Statement } from "./statement.ts"

/** The branches that a batch needs. Others are omitted, because an empty branch also has a cost. */
interface Parts {
  readonly first: boolean
  readonly outgoing: boolean
}

const columns = [...keyColumns, ...valueColumns].map((
  [name, type, of]
): Batch.Column<Change> => [name, type, ({ grant }) => of(grant, 0)])

const columnsOf = ({ outgoing }: Parts): ReadonlyArray<Batch.Column<Change>> =>
  outgoing ? [...columns, Batch.place] : columns

const partsOf = (changes: ReadonlyArray<Change>): Parts => ({
  first: changes.some(({ grant }) => grant.version === 1),
  outgoing: changes.some(({ outgoing }) => outgoing.length > 0)
})

const byKey = ({ grant: a }: Change, { grant: b }: Change): number =>
  a.applicationId - b.applicationId || a.userId - b.userId

const key = keyColumns.map(([name]) => name).join(", ")
const values = valueColumns.map(([name]) => name).join(", ")

const saveText = (dialect: Dialect, parts: Parts, isAlone: boolean): string => {
  const { ofUsers, prefix: p } = dialect
  const { first, outgoing } = parts
  const given = columnsOf(parts)
  const update = `
  UPDATE ${p}grants g SET ${valueColumns.map(([name]) => `${name} = i.${name}`).join(", ")}
  FROM input i
  WHERE i.version > 1 AND g.application_id = i.application_id AND g.user_id = i.user_id AND g.version = i.version - 1
    ${ofUsers("g.user_id", Batch.nextParameter(given, isAlone, outgoing ? 1 : 0))}
  RETURNING i.*`
  const ctes = [
    `input AS (${Batch.rowsText(given, isAlone)})`,
    outgoing && `given AS (SELECT ${Batch.nextParameter(given, isAlone)}::json AS outgoing)`,
    first ?
      `updated AS (${update}
),
inserted AS (
  INSERT INTO ${p}grants (${key}, ${values})
  SELECT ${key}, ${values} FROM input WHERE version = 1
  ON CONFLICT (${key}) DO NOTHING RETURNING ${key}
),
saved AS MATERIALIZED (
  SELECT * FROM updated UNION ALL SELECT i.* FROM input i JOIN inserted n USING (${key})
)` :
      `saved AS (${update}
)`,
    outgoing && outbox(dialect, "given", "saved")
  ]
  return `WITH ${ctes.filter(Boolean).join(",\n")}
SELECT ${key}, ${outgoing ? "(SELECT count(*) FROM queued)::integer" : "0"} AS queued FROM saved`
}

/**
 * The statement and the parameters that save a batch of changes.
 *
 * The input is sorted by key, so that all batches lock rows in the same order and cannot deadlock. The statement
 * returns the saved keys, each with its number of queued deliveries.
 */
export const saver = (
  dialect: Dialect
): (changes: ReadonlyArray<Change>) => readonly [Statement, ReadonlyArray<Parameter>] => {
  const known = new Map<string, ReturnType<typeof Batch.statement>>()
  return (changes) => {
    const parts = partsOf(changes)
    const name = `${dialect.prefix}grant_save${parts.first ? "_first" : ""}${parts.outgoing ? "_outgoing" : ""}`
    const statement = known.get(name) ?? Batch.statement(name, (isAlone) => saveText(dialect, parts, isAlone))
    known.set(name, statement)
    const sorted = [...changes].sort(byKey)
    const rows = Batch.rowsParameters(columnsOf(parts), sorted)
    const outgoing = parts.outgoing ? [outgoingParameter(sorted)] : []
    const users = dialect.usersParameter(sorted.map(({ grant }) => grant.userId))
    return [statement(sorted), [...rows, ...outgoing, ...users]]
  }
}
