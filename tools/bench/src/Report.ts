/** Stores results in `results.json`, and writes `docs/evidence/benchmarks.md` and the table of ratios in the README from it. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Description } from "./Machine.ts"
import type { Effort } from "./Measurement.ts"
import type { Beside, Judged, Scenario, Table } from "./Scenario.ts"

/** The result of one run of a scenario, and its machine. */
interface Section {
  readonly machine: Description
  readonly rounds: number
  readonly seconds: number
  readonly tables: ReadonlyArray<Table>
}

type Results = Readonly<Record<string, Section>>

const root = fileURLToPath(new URL("../../../", import.meta.url))
const resultsFile = join(root, "tools/bench/results.json")
const documentFile = join(root, "docs/evidence/benchmarks.md")
const readmeFile = join(root, "README.md")

const read = (): Results => existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, "utf8")) : {}

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** Aligns numbers to the right. */
const rule = (columns: ReadonlyArray<string>): string => row(columns.map((_, index) => index === 0 ? "---" : "---:"))

/** A goal and its result: "Startlist on Node 20: 2.98 times the rate of …. The goal was at least 5." */
const sentence = ({ goal, result, what }: Judged): string =>
  `${what}: ${result}. The goal was ${goal}.`.replaceAll(", Node v", " on Node ")

const judged = (goal: Judged): string => `- ${goal.isReached ? "Reached" : "**Not reached**"}: ${sentence(goal)}`

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
      `${found.rounds} ${found.rounds === 1 ? "round" : "rounds"} of ${found.seconds} s.`,
      ""
    ]
]

const missed = (scenarios: ReadonlyArray<Scenario>, results: Results): ReadonlyArray<string> =>
  scenarios.flatMap(({ name, title }) =>
    (results[name]?.tables ?? []).flatMap((found) =>
      found.goals
        .filter(({ isReached }) => !isReached)
        .map((goal) => `- ${title}, ${found.title}: ${sentence(goal)}`)
    )
  )

const beside = (found: Beside | undefined): string =>
  found === undefined ? "–" : `${found.ratio} ${found.name}`.replaceAll(", Node v", " on Node ")

/** One row for each table that compares contenders. */
const summary = (scenarios: ReadonlyArray<Scenario>, results: Results): ReadonlyArray<string> => [
  "| work | ours, as a ratio of | beside the best peer | beside the limit |",
  "| --- | --- | --- | --- |",
  // An earlier revision is no peer.
  ...scenarios.filter(({ name }) => name !== "before").flatMap(({ name, title }) =>
    (results[name]?.tables ?? []).flatMap(({ summary, title: table }) =>
      summary?.peer === undefined && summary?.limit === undefined
        ? []
        : [row([`${title}: ${table}`, summary.by, beside(summary.peer), beside(summary.limit)])]
    )
  ),
  ""
]

const document = (scenarios: ReadonlyArray<Scenario>, results: Results): string => {
  const first = scenarios.map(({ name }) => results[name]).find((found) => found !== undefined)
  const failures = missed(scenarios, results)
  return [
    "# Benchmarks",
    "",
    "How fast Startlist is, beside its peers and a limit. `npm run bench` writes this page; `npm run bench -- NAME…` measures",
    "some scenarios or groups (`cpu`) again, and `-- --quick` all of them in less time. Do not edit it by hand.",
    "",
    ...summary(scenarios, results),
    "A ratio of CPU time below 1 is good, a ratio of rates above 1. CPU time per request is what an operator pays, and it varies",
    "by a few percent on a machine whose rates vary by a factor of two.",
    "",
    "- Startlist, its peers and the limit alternate (A B A B …). Each round uses fresh processes and databases, after a warm-up.",
    "- A figure is the median of the rounds. A ratio is the median of the ratios of the rounds.",
    "- Every answer is checked. A server that accepts a wrong secret, an unknown token or a replaced token is not measured.",
    "- A limit does not do the work. It shows the best possible result.",
    "- Peers do the same work with the same lifetimes and 256-bit tokens, and store only fingerprints. Their stores are the",
    "  simplest correct ones. They run at their newest versions, on the newest long-term Node. Startlist sets V8's",
    "  `--no-allocation-site-pretenuring`, as `startlist serve` does; @node-oauth with it takes 0.99 to 1.04 of its CPU time.",
    "",
    "## The machine",
    "",
    ...machine(first?.machine ?? {}),
    ...scenarios.flatMap((scenario) => section(scenario, results[scenario.name], first)),
    ...failures.length === 0 ? [] : ["## Goals that were not reached", "", ...failures, ""]
  ].join("\n")
}

/** Rows of the table in the README: what is measured, its scenario, and the starts of the names of other contenders. */
const ratios = [
  ["refresh a token, on PostgreSQL", "cpu-refresh-postgres", ["oidc-provider", "@node-oauth"]],
  ["refresh a token, in memory", "cpu-refresh", ["oidc-provider", "@node-oauth"]],
  ["check a token, on PostgreSQL", "cpu-bearer-postgres", ["oidc-provider", "@node-oauth"]],
  ["check a token, in memory", "cpu-bearer", ["oidc-provider", "@node-oauth"]],
  ["deliver an event, on PostgreSQL", "deliveries", ["graphile-worker", "pg-boss"]]
] as const

const ratioTable = (results: Results): string => {
  const ratioOf = (scenario: string, peer: string) =>
    results[scenario]?.tables[0]?.rows.find(([name]) => name?.startsWith(peer))?.at(-1) ?? "not measured:"
  return [
    row(["to", "rate of Startlist"]),
    row(["---", "---"]),
    ...ratios.map(([action, scenario, peers]) =>
      row([action, peers.map((peer) => `${ratioOf(scenario, peer)} ${peer}`).join(", ")])
    )
  ].join("\n")
}

const marked = /(?<=<!-- ratios: npm run bench -->\n\n).*?(?=\n\n<!-- end -->)/s

/** Writes the document and the table in the README from stored results. */
export const writePages = (scenarios: ReadonlyArray<Scenario>, results: Results = read()): void => {
  writeFileSync(documentFile, document(scenarios, results))
  writeFileSync(readmeFile, readFileSync(readmeFile, "utf8").replace(marked, () => ratioTable(results)))
  spawnSync(join(root, "node_modules/.bin/dprint"), ["fmt", resultsFile, documentFile, readmeFile], { cwd: root })
}

/** Adds the result of a scenario, and writes the pages. */
export const add = (
  scenarios: ReadonlyArray<Scenario>,
  { name }: Scenario,
  { rounds, seconds }: Effort,
  where: Description,
  tables: ReadonlyArray<Table>
): void => {
  const known = Object.entries(read()).filter(([name]) => scenarios.some((scenario) => scenario.name === name))
  const results: Results = { ...Object.fromEntries(known), [name]: { machine: where, rounds, seconds, tables } }
  writeFileSync(resultsFile, `${JSON.stringify(results, undefined, 2)}\n`)
  writePages(scenarios, results)
}

/** Prints a result to the terminal. */
export const print = ({ columns, goals, rows, title }: Table): void => {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((cells) => cells[index]?.length ?? 0))
  )
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, index) => index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)).join("  ")
  console.log(`\n${title}\n  ${line(columns)}`)
  for (const cells of rows) console.log(`  ${line(cells)}`)
  for (const { goal, isReached, result, what } of goals) {
    console.log(`  ${isReached ? "reached    " : "NOT REACHED"} ${what}: ${result} (goal: ${goal})`)
  }
}
