/** Keeps what was measured in `results.json`, and writes `docs/benchmarks.md` from it. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Description } from "./Machine.ts"
import type { Effort } from "./Measurement.ts"
import type { Judged, Scenario, Table } from "./Scenario.ts"

/** What one run of a scenario came to, and where. */
interface Section {
  readonly machine: Description
  readonly rounds: number
  readonly seconds: number
  readonly tables: ReadonlyArray<Table>
}

type Results = Readonly<Record<string, Section>>

const root = fileURLToPath(new URL("../../../", import.meta.url))
const resultsFile = join(root, "packages/bench/results.json")
const documentFile = join(root, "docs/benchmarks.md")

const read = (): Results => existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, "utf8")) : {}

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** Numbers to the right. */
const rule = (columns: ReadonlyArray<string>): string => row(columns.map((_, index) => index === 0 ? "---" : "---:"))

const judged = ({ goal, isReached, result }: Judged): string =>
  isReached ? `- Reached: ${result} (goal: ${goal}).` : `- **Not reached**: ${result} (goal: ${goal}).`

const table = ({ columns, goals, rows, title }: Table): ReadonlyArray<string> => [
  `### ${title}`,
  "",
  row(columns),
  rule(columns),
  ...rows.map(row),
  "",
  ...goals.map(judged),
  ...goals.length > 0 ? [""] : []
]

const machine = (description: Description): ReadonlyArray<string> => [
  ...Object.entries(description).map(([name, value]) => `- ${name}: ${value}`),
  ""
]

const section = ({ about, name, title }: Scenario, found: Section | undefined, first: Section | undefined) => [
  `## ${title}`,
  "",
  about.trim(),
  "",
  ...found === undefined
    ? [`Not measured yet: \`npm run bench -- ${name}\`.`, ""]
    : [
      ...JSON.stringify(found.machine) === JSON.stringify(first?.machine)
        ? []
        : ["Measured on another machine than the rest:", "", ...machine(found.machine)],
      ...found.tables.flatMap(table),
      `${found.rounds} rounds of ${found.seconds} s.`,
      ""
    ]
]

const missed = (scenarios: ReadonlyArray<Scenario>, results: Results): ReadonlyArray<string> =>
  scenarios.flatMap(({ name, title }) =>
    (results[name]?.tables ?? []).flatMap((found) =>
      found.goals
        .filter(({ isReached }) => !isReached)
        .map(({ goal, result }) => `- ${title}, ${found.title}: ${result} instead of ${goal}.`)
    )
  )

const document = (scenarios: ReadonlyArray<Scenario>, results: Results): string => {
  const first = scenarios.map(({ name }) => results[name]).find((found) => found !== undefined)
  const failures = missed(scenarios, results)
  return [
    "# Benchmarks",
    "",
    "Written by `npm run bench`; `npm run bench -- NAME…` measures some scenarios again, `-- --quick` all of them in less",
    "time. Do not edit by hand.",
    "",
    "Ours, its peers and its limit take turns (A B A B …), each round in fresh processes and databases after a warm-up.",
    "A figure is the median of the rounds, with the range in which they were; percentiles are medians of the rounds' own.",
    "Read the ratios rather than the figures: the machine decides these, and changes its pace from one minute to the next.",
    "So a ratio is the median of those that the rounds had, each by itself. Every answer is checked while it is measured, and",
    "a server that takes a wrong secret, an unknown token or a replaced one is not measured at all. A limit does not do the",
    "work: it shows what could be reached at most. Peers do the same work with the same lifetimes and 256-bit tokens, and",
    "keep only fingerprints of them; where one must be told how to store its tokens, it is told the plainest way that is",
    "correct.",
    "",
    "## The machine",
    "",
    ...machine(first?.machine ?? {}),
    ...failures.length === 0 ? [] : ["## Goals that were not reached", "", ...failures, ""],
    ...scenarios.flatMap((scenario) => section(scenario, results[scenario.name], first))
  ].join("\n")
}

/** Adds the result of a scenario, and writes the document anew. */
export const add = (
  scenarios: ReadonlyArray<Scenario>,
  { name }: Scenario,
  { rounds, seconds }: Effort,
  where: Description,
  tables: ReadonlyArray<Table>
): void => {
  const results: Results = { ...read(), [name]: { machine: where, rounds, seconds, tables } }
  writeFileSync(resultsFile, `${JSON.stringify(results, undefined, 2)}\n`)
  writeFileSync(documentFile, document(scenarios, results))
  spawnSync(join(root, "node_modules/.bin/dprint"), ["fmt", resultsFile, documentFile], { cwd: root })
}

/** For the terminal. */
export const print = ({ columns, goals, rows, title }: Table): void => {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((cells) => cells[index]?.length ?? 0))
  )
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, index) => index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)).join("  ")
  console.log(`\n${title}\n  ${line(columns)}`)
  for (const cells of rows) console.log(`  ${line(cells)}`)
  for (const { goal, isReached, result } of goals) {
    console.log(`  ${isReached ? "reached    " : "NOT REACHED"} ${result}: ${goal}`)
  }
}
