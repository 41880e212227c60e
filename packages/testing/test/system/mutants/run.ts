/**
 * Plants all faults, one after the other: those of the core, and those of copies of the stores in memory. Prints one table of
 * the laws that detect them: `npm run mutants`, or with the names of some. With `--markdown` the table is for
 * `docs/testing.md`. Exit status 1 if a fault is not detected.
 */
import { parse, refuse } from "@startlist/test-support/Arguments"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { storeFaults } from "../../storeFaults.ts"
import { subtleStoreFaults } from "../../subtleStoreFaults.ts"
import { firstBroken, inMemory, isHarmless, suiteOf } from "../support/plantedStores.ts"
import { mutants } from "./mutants.ts"

const suites = ["store laws", "programs", "rules"] as const
type Suite = typeof suites[number]

const filesOf: Readonly<Record<Suite, string>> = {
  "store laws": "storeLaws.test.ts",
  programs: "programs.test.ts",
  rules: "core/test/"
}

interface Verdict {
  readonly detectedBy: ReadonlyArray<Suite>
  /** The first law that does not hold. */
  readonly law: string
  /** Length of the counterexample. */
  readonly operations: number | undefined
}

interface Failure {
  readonly title: string
  readonly failureMessages: ReadonlyArray<string>
}

/** The part of vitest's report that is read. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly status: string
    readonly assertionResults: ReadonlyArray<Failure>
  }>
}

const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url))
const vitest = fileURLToPath(new URL("../../../../../node_modules/vitest/vitest.mjs", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "mutants-"))

/** Timeout in milliseconds: a fault that makes a suite hang is detected, too. */
const patience = 300_000

/** Runs one suite until its first failure. Its failures, or `undefined` if there is none. */
const runSuite = (index: number, suite: Suite): Promise<ReadonlyArray<Failure> | undefined> => {
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

const failuresIn = (file: string): ReadonlyArray<Failure> => {
  if (!existsSync(file)) return []
  const { testResults }: Report = JSON.parse(readFileSync(file, "utf8"))
  rmSync(file)
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ failureMessages }) => failureMessages.length > 0)
  )
}

const sizeOfProgram = (message: string): number | undefined => {
  const [, program] = /^Counterexample: \[\{"program":(\[.*\]),"seed":\d+\}\]$/m.exec(message) ?? []
  if (program === undefined) return undefined
  const operations: ReadonlyArray<{ readonly operations?: ReadonlyArray<unknown> }> = JSON.parse(program)
  return operations.reduce((sum, operation) => sum + (operation.operations?.length ?? 1), 0)
}

/** Number of operations that a law of the stores names. The other laws are examples, which have no number. */
const sizeOfLaw = (law: string): number | undefined => {
  if (/^(?:all or nothing|two handles|versions): /.test(law)) return 1
  return /^races(?: of two handles)?: (.*): as if/.exec(law)?.[1]?.split(", ").length
}

const judge = async (index: number): Promise<Verdict> => {
  const detectedBy: Array<Suite> = []
  const laws: Array<string> = []
  const sizes: Array<number | undefined> = []
  for (const suite of suites) {
    const failures = await runSuite(index, suite)
    if (failures === undefined) continue
    detectedBy.push(suite)
    for (const { failureMessages, title } of failures) {
      laws.push(title)
      sizes.push(...failureMessages.map(sizeOfProgram), sizeOfLaw(title))
    }
  }
  return { detectedBy, law: laws[0] ?? "", operations: sizes.find((size) => size !== undefined) }
}

const { positionals: names, values: { markdown: isMarkdown } } = parse({
  allowPositionals: true,
  options: { markdown: { type: "boolean", default: false } }
})
const isSelected = ({ name }: { readonly name: string }) =>
  names.length === 0 || names.some((part) => name.includes(part))
const inStores = [...storeFaults, ...subtleStoreFaults].filter((fault) => !isHarmless(fault, "memory"))
const faults = [...mutants, ...inStores]
const unknown = names.find((part) => !faults.some(({ name }) => name.includes(part)))
if (unknown !== undefined) {
  refuse(`no fault is called "${unknown}"; there are:\n${faults.map(({ name }) => `  ${name}`).join("\n")}`)
}
const verdicts = new Map<string, Verdict & { readonly place: string }>()

const record = (name: string, place: string, verdict: Verdict): void => {
  verdicts.set(name, { ...verdict, place })
  process.stderr.write(`${verdicts.size} ${place}: ${name}: ${verdict.law || "NOT DETECTED"}\n`)
}

const queue = [...mutants.entries()].filter(([, mutant]) => isSelected(mutant))
const work = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [index, { file, name }] = next
    record(name, file, await judge(index))
  }
}
await Promise.all([work(), work()])
rmSync(folder, { recursive: true })

for (const fault of inStores.filter(isSelected)) {
  const law = await firstBroken(suiteOf(fault, inMemory))
  const detectedBy = law === undefined ? [] : ["store laws" as const]
  record(fault.name, "stores", { detectedBy, law: law ?? "", operations: law && sizeOfLaw(law) || undefined })
}

/** The law of programs has a long name. */
const shortened = (law: string) => law.startsWith("programs: ") ? law.split(",")[0] ?? "" : law

const cells = faults.filter(isSelected).flatMap(({ name }) => {
  const verdict = verdicts.get(name)
  return verdict === undefined
    ? []
    : [[
      name,
      `\`${verdict.place}\``,
      verdict.detectedBy.join(", "),
      shortened(verdict.law),
      String(verdict.operations ?? "")
    ]]
})
const header = ["planted fault", "in", "detected by", "first law that does not hold", "operations"]
const rows = [header, ...(isMarkdown ? [header.map(() => "---")] : []), ...cells]
for (const row of rows) console.log(isMarkdown ? `| ${row.join(" | ")} |` : row.join("\t"))

const detected = cells.filter(([, , by]) => by !== "").length
console.log(`\n${detected} of ${cells.length} planted faults are detected.`)
process.exitCode = detected === cells.length ? 0 : 1
