/** Records as tables for people. */
import type * as Effect from "effect/Effect"
import { printable, printableJson, printLines } from "./Terminal.ts"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const cell = (value: unknown): string => {
  if (value === null || value === undefined || value === "") return "-"
  if (Array.isArray(value)) {
    return value.every((item) => !isRecord(item))
      ? value.map(cell).join(", ") || "-"
      : `${value.length}`
  }
  return isRecord(value) ? Object.values(value).map(cell).join(" ") : printable(String(value))
}

const align = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n")
}

const listOf = (records: ReadonlyArray<Readonly<Record<string, unknown>>>): string => {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))]
  return records.length === 0
    ? "none"
    : align([
      columns.map((name) => printable(name.toUpperCase())),
      ...records.map((record) => columns.map((name) => cell(record[name])))
    ])
}

/** One line per field. Fields that are lists of records follow as tables. */
const recordOf = (record: Readonly<Record<string, unknown>>): string => {
  const details = Object.entries(record).flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 0 && value.every(isRecord) ? [`${printable(name)}:\n${listOf(value)}`] : []
  )
  return [align(Object.entries(record).map(([name, value]) => [printable(name), cell(value)])), ...details].join("\n\n")
}

/**
 * A record as one line per field; a page (`{applications: […], next?}`) as one line per record and the next `--after`.
 */
export const render = (answer: unknown): string => {
  if (!isRecord(answer)) return "done"
  const page = Object.values(answer).find((value): value is ReadonlyArray<unknown> =>
    Array.isArray(value) && value.every(isRecord)
  )
  const isPage = page !== undefined && Object.keys(answer).every((key) => key === "next" || answer[key] === page)
  if (!isPage) return recordOf(answer)
  const more = answer["next"] === undefined ? "" : `\n(more: --after ${cell(answer["next"])})`
  return listOf(page.filter(isRecord)) + more
}

/** Prints a response: as JSON, or as a table for people. */
export const print = (answer: unknown, isJson: boolean): Effect.Effect<void> =>
  printLines(...(isJson ? printableJson(answer ?? null) : render(answer)).split("\n"))
