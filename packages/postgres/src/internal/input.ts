/**
 * The input of a batched statement: many rows as one JSON array, a single row as one parameter per column. The rest of
 * the statement is the same. A single row takes two thirds of the time, because there is no JSON to parse and no set to
 * join.
 */
import type { Parameter, Statement } from "../Database.ts"

/** A column of the input: its name, its type, and its value of a row (lists and objects for the type `json`). */
export type Column<Row> = readonly [name: string, type: string, of: (row: Row, place: number) => Parameter | object]

/** The position of a row in its batch. */
export const place: Column<unknown> = ["place", "integer", (_, place) => place]

/** A statement in both forms. The function returns the form for the given rows. */
export const statement = (
  name: string,
  text: (isAlone: boolean) => string
): (rows: ReadonlyArray<unknown>) => Statement => {
  const many = { name, text: text(false) }
  const one = { name: `${name}_one`, text: text(true) }
  return ({ length }) => length === 1 ? one : many
}

/** The parameter that follows those of the input, or a later one. */
export const nextParameter = (columns: ReadonlyArray<unknown>, isAlone: boolean, skipped = 0): string =>
  `$${(isAlone ? columns.length : 1) + 1 + skipped}`

/** Short names for columns: in JSON, each row repeats them. */
const keyOf = (index: number): string => `c${index.toString(36)}`

/** The query whose rows are the input. */
export const rowsText = <Row>(columns: ReadonlyArray<Column<Row>>, isAlone: boolean): string => {
  if (isAlone) return `SELECT ${columns.map(([name, type], index) => `$${index + 1}::${type} AS ${name}`).join(", ")}`
  const named = columns.map(([name], index) => `${keyOf(index)} AS ${name}`).join(", ")
  const typed = columns.map(([, type], index) => `${keyOf(index)} ${type}`).join(", ")
  return `SELECT ${named} FROM json_to_recordset($1::json) AS i(${typed})`
}

export const rowsParameters = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>
): ReadonlyArray<Parameter> => {
  const [row] = rows
  if (row !== undefined && rows.length === 1) return columns.map(([, , of]) => toParameter(of(row, 0)))
  return [JSON.stringify(rows.map((row, place) => toRecord(columns, row, place)))]
}

const toRecord = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  row: Row,
  place: number
): Readonly<Record<string, unknown>> => {
  const record: Record<string, unknown> = {}
  columns.forEach(([, , of], index) => record[keyOf(index)] = of(row, place))
  return record
}

const toParameter = (value: Parameter | object): Parameter =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : value

/** The condition that a column is one of the keys. */
export const isAmong = (column: string, type: string, isAlone: boolean): string =>
  isAlone
    ? `${column} = $1::${type}`
    : `${column} = ANY (ARRAY(SELECT json_array_elements_text($1::json)::${type}))`

export const keysParameters = (keys: ReadonlyArray<string | number>): ReadonlyArray<Parameter> => {
  const [key] = keys
  return key !== undefined && keys.length === 1 ? [key] : [JSON.stringify(keys)]
}
