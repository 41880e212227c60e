/** Input and output of commands on the terminal: secrets, lines, JSON, and records as tables. */
import type * as Prompt from "@effect/cli/Prompt"
import * as Schema from "effect/Schema"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** A failed command. The message is one line for people. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("@startlist/node/CommandFailed", {
  message: Schema.String
}) {}

const firstLine = async (): Promise<Redacted.Redacted<string>> => {
  let input = ""
  for await (const chunk of process.stdin) input += String(chunk)
  return Redacted.make(input.split(/\r?\n/, 1)[0] ?? "")
}

/** Loaded when it is needed: the parser of commands is large, and programs wait for some commands. */
const prompt = (name: string) =>
  Effect.flatMap(
    Effect.promise(() => import("@effect/cli/Prompt")),
    ({ hidden, run }) => run(hidden({ message: name }))
  )

/**
 * Prompts for a secret on a terminal. Otherwise reads the first line of standard input. On the command line, the process
 * list and the shell history would show it.
 */
export const readSecret = (
  name: string
): Effect.Effect<Redacted.Redacted<string>, CommandFailed, Prompt.Prompt.Environment> => {
  const unreadable = () =>
    new CommandFailed({ message: `the ${name.toLowerCase()} cannot be read from standard input` })
  return Effect.suspend(() =>
    process.stdin.isTTY === true
      ? Effect.mapError(prompt(name), unreadable)
      : Effect.tryPromise({ try: firstLine, catch: unreadable })
  )
}

/** The stream on which progress is shown. */
export interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly write: (text: string) => unknown
}

/** Replaces the line that shows the progress of a command. An empty text removes it. Without a terminal, prints nothing. */
export const showProgress = (text: string, terminal: Terminal = process.stderr): void => {
  if (terminal.isTTY === true) terminal.write(`\r\u001B[2K${text}`)
}

const controls = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/gu

const escape = (character: string): string =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")

/** Escapes characters that could control a terminal or change the direction of text, as in JSON: `\u001b`. */
export const printable = (text: string): string => text.replaceAll(controls, escape)

/** Prints lines. Every output of a command goes through here, so that no text from elsewhere can control the terminal. */
export const printLines = (...lines: ReadonlyArray<string>): Effect.Effect<void> =>
  Console.log(lines.map(printable).join("\n"))

/** JSON for a terminal, with such characters escaped. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).split("\n").map(printable).join("\n")

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
