/**
 * Plants one fault after the other and shows which suite notices: `npm run mutants`, or with the names of some.
 * With `--markdown` the table is for `docs/testing.md`. Exit status 1 if a fault goes unnoticed.
 */
import { parse, refuse } from "@startlist/test-support/Arguments"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { mutants } from "./mutants.ts"

const suites = ["store laws", "programs", "rules"] as const
type Suite = typeof suites[number]

const filesOf: Readonly<Record<Suite, string>> = {
  "store laws": "storeLaws.test.ts",
  programs: "programs.test.ts",
  rules: "core/test/"
}

interface Verdict {
  readonly noticedBy: ReadonlySet<Suite>
  /** Commands of the shortest program that shows it. */
  readonly operations: number | undefined
}

/** What of vitest's report is read. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly failureMessages: ReadonlyArray<string> }>
  }>
}

const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url))
const vitest = fileURLToPath(new URL("../../../../../node_modules/vitest/vitest.mjs", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "mutants-"))

/** A fault that makes a suite hang is noticed as well. */
const patience = 300_000

/** Runs one suite until its first failure. Its failures, or `undefined` if there is none. */
const runSuite = (index: number, suite: Suite): Promise<ReadonlyArray<string> | undefined> => {
  const report = join(folder, `${index}.json`)
  const options = ["--config", config, "--bail=1", "--reporter=json", `--outputFile=${report}`]
  const child = spawn(process.execPath, [vitest, "run", filesOf[suite], ...options], {
    env: { ...process.env, MUTANT: String(index) },
    stdio: "ignore"
  })
  const timer = setTimeout(() => child.kill("SIGKILL"), patience)
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : failuresIn(report))
    })
  })
}

const failuresIn = (file: string): ReadonlyArray<string> => {
  if (!existsSync(file)) return []
  const { testResults }: Report = JSON.parse(readFileSync(file, "utf8"))
  rmSync(file)
  return testResults.flatMap(({ assertionResults }) => assertionResults.flatMap((test) => test.failureMessages))
}

const sizeOf = (message: string): number | undefined => {
  const [, program] = /^Counterexample: \[\{"program":(\[.*\]),"seed":\d+\}\]$/m.exec(message) ?? []
  if (program === undefined) return undefined
  const operations: ReadonlyArray<{ readonly operations?: ReadonlyArray<unknown> }> = JSON.parse(program)
  return operations.reduce((sum, operation) => sum + (operation.operations?.length ?? 1), 0)
}

const judge = async (index: number): Promise<Verdict> => {
  const noticedBy = new Set<Suite>()
  let operations: number | undefined
  for (const suite of suites) {
    const failures = await runSuite(index, suite)
    if (failures === undefined) continue
    noticedBy.add(suite)
    operations ??= failures.map(sizeOf).find((size) => size !== undefined)
  }
  return { noticedBy, operations }
}

const { positionals: names, values: { markdown: isMarkdown } } = parse({
  allowPositionals: true,
  options: { markdown: { type: "boolean", default: false } }
})
const unknown = names.find((part) => !mutants.some(({ name }) => name.includes(part)))
if (unknown !== undefined) {
  refuse(`no fault is called "${unknown}"; there are:\n${mutants.map(({ name }) => `  ${name}`).join("\n")}`)
}
const selected = [...mutants.entries()].filter(([, { name }]) =>
  names.length === 0 || names.some((part) => name.includes(part))
)
const queue = [...selected]
const verdicts = new Map<number, Verdict>()

const work = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [index, { file, name }] = next
    const verdict = await judge(index)
    verdicts.set(index, verdict)
    const noticed = suites.filter((suite) => verdict.noticedBy.has(suite)).join(", ") || "NOBODY"
    const size = verdict.operations === undefined ? "" : ` (${verdict.operations} operations)`
    process.stderr.write(`${verdicts.size}/${selected.length} ${file}: ${name}: ${noticed}${size}\n`)
  }
}
await Promise.all([work(), work()])
rmSync(folder, { recursive: true })

const mark = (isNoticed: boolean) => isNoticed ? "×" : ""
const cells = selected.map(([index, { file, name }]) => {
  const { operations, noticedBy } = verdicts.get(index) ?? { operations: undefined, noticedBy: new Set<Suite>() }
  return [name, `\`${file}\``, ...suites.map((suite) => mark(noticedBy.has(suite))), String(operations ?? "")]
})
const header = ["planted fault", "in", ...suites, "operations"]
const rows = [header, ...(isMarkdown ? [header.map(() => "---")] : []), ...cells]
for (const row of rows) console.log(isMarkdown ? `| ${row.join(" | ")} |` : row.join("\t"))

const unnoticed = selected.filter(([index]) => verdicts.get(index)?.noticedBy.size === 0)
console.log(`\n${selected.length - unnoticed.length} of ${selected.length} planted faults are noticed.`)
process.exitCode = unnoticed.length === 0 ? 0 : 1
