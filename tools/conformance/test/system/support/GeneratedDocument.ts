/** Documents that tests write from their observations, and compare with them. */
import { expect } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const documents = new URL("../../../../../docs/evidence/", import.meta.url)

/** Whether the tests write the documents, and do not compare them. */
const rewrite = process.env["WRITE_DOCUMENTS"] === "1"

/** Compares `docs/evidence/<name>` with this text, or writes it. */
export const expectDocument = (name: string, text: string): void => {
  const file = fileURLToPath(new URL(name, documents))
  if (rewrite) writeFileSync(file, text)
  expect(
    readFileSync(file, "utf8"),
    `docs/evidence/${name} does not say what was observed: npm run documents -w @startlist/conformance writes it`
  )
    .toBe(text)
}

const cell = (text: string): string => text.replaceAll("|", String.raw`\|`)

/** A table in the style of the formatter: each column is as wide as its widest cell. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const lines = [head, ...rows].map((row) => row.map(cell))
  const widths = head.map((_, column) => Math.max(3, ...lines.map((row) => [...(row[column] ?? "")].length)))
  const write = (row: ReadonlyArray<string>) =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`
  const [first = [], ...rest] = lines
  return [write(first), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest.map(write)].join("\n")
}
