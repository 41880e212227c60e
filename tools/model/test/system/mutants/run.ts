/**
 * Plants faults, one after the other, and runs the tests that must find each: `npm run mutants [-- WORD… --table]`, and those
 * of stores only: `npm run faults [-- WORD… --times N --postgres]`. Prints the law or test that finds each first. `--table`
 * prints `docs/evidence/faults.md` and plants nothing. Status 1 if a fault is not found.
 */
import { Postgres } from "@startlist/postgres"
import { integer, parse, refuse } from "@startlist/test-support/Arguments"
import * as PostgresServer from "@startlist/test-support/PostgresServer"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { Effect, Layer, Redacted } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { byPrograms, firstBroken, inMemory, isHarmless, Storage } from "../../faults/detect.ts"
import { type Change, type Fault, type FoundBy, isInCore, isInStores, type Source } from "../../faults/Fault.ts"
import { faults } from "../../faults/faults.ts"
import { table } from "../../faults/table.ts"

const { positionals: words, values } = parse({
  allowPositionals: true,
  options: {
    stores: { type: "boolean", default: false },
    postgres: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    times: { type: "string", default: "1" }
  }
})
const times = integer("times", values.times, 1)
const isNamed = ({ kind, name }: Fault) =>
  words.length === 0 || words.some((word) => kind === word || name.includes(word))
const unknown = words.find((word) => !faults.some(({ kind, name }) => kind === word || name.includes(word)))
if (unknown !== undefined) {
  refuse(`no fault is called "${unknown}"; there are:\n${faults.map(({ name }) => `  ${name}`).join("\n")}`)
}

const folder = mkdtempSync(join(tmpdir(), "faults-"))
const config = fileURLToPath(new URL("vitest.config.ts", import.meta.url))
const vitest = fileURLToPath(new URL("../../../../../node_modules/vitest/vitest.mjs", import.meta.url))

/** Milliseconds for a suite. A fault that makes it hang is found, too. */
const patience = 300_000

const filesOf: Readonly<Record<Exclude<keyof FoundBy, "simulation">, string>> = {
  storeLaws: "storeLaws.test.ts",
  programs: "programs.test.ts",
  rules: "core/test/"
}

/** Runs a suite with the fault until a test fails. Returns the name of the test, or undefined if none fails. */
const firstFailure = (fault: Fault<Source>, files: string): Promise<string | undefined> => {
  const report = join(folder, "report.json")
  const options = ["--config", config, "--bail=1", "--reporter=json", `--outputFile=${report}`]
  const env = { ...process.env, MUTANT: fault.name }
  const child = spawn(process.execPath, [vitest, "run", files, ...options], { env, stdio: "ignore" })
  const timer = setTimeout(() => child.kill("SIGKILL"), patience)
  return new Promise((resolve) => {
    child.on("exit", (code, signal) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : signal === "SIGKILL" ? "it hangs" : failureIn(report))
    })
  })
}

/** The part of vitest's report that is read. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly assertionResults: ReadonlyArray<
      { readonly title: string; readonly failureMessages: ReadonlyArray<string> }
    >
  }>
}

const failureIn = (file: string): string => {
  const { testResults }: Report = JSON.parse(readFileSync(file, "utf8"))
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults).find(({ failureMessages }) =>
    failureMessages.length > 0
  )
  return failed?.title ?? "it cannot be loaded"
}

/** What finds a fault of the core, in each suite that must find it. */
const inCore = async (fault: Fault<Source>): Promise<ReadonlyArray<string | undefined>> => {
  const found: Array<string | undefined> = []
  for (const [suite, files] of Object.entries(filesOf)) {
    if (suite in fault.foundBy) found.push(await firstFailure(fault, files))
  }
  return found
}

const inStores = async (
  fault: Fault<Change>,
  storage: Layer.Layer<Storage>
): Promise<ReadonlyArray<string | undefined>> => {
  if (fault.foundBy.storeLaws === true) return [await firstBroken(fault, storage)]
  if (fault.foundBy.programs === undefined) return []
  const { error, report } = await byPrograms(fault, 500)
  return [error.includes("LawBroken") ? report : undefined]
}

const plantAll = async (newStorage: () => Layer.Layer<Storage>): Promise<void> => {
  const isPlanted = (fault: Fault) =>
    isNamed(fault) && !isHarmless(fault, values.postgres ? "PostgreSQL" : "memory") &&
    (!values.stores || fault.foundBy.storeLaws === true && isInStores(fault))
  let missed = 0
  for (const fault of faults.filter(isPlanted)) {
    const began = performance.now()
    const found: Array<string | undefined> = []
    for (let time = 0; time < times; time++) {
      if (isInCore(fault)) found.push(...await inCore(fault))
      else if (isInStores(fault)) found.push(...await inStores(fault, newStorage()))
    }
    const laws = found.filter((law) => law !== undefined)
    if (laws.length < found.length) missed++
    const seconds = ((performance.now() - began) / 1000 / times).toFixed(1)
    console.log(
      [fault.kind, fault.name, [...new Set(laws)].join("; "), `${laws.length}/${found.length}`, seconds].join("\t")
    )
  }
  if (missed > 0) console.log(`${missed} faults were not found every time`)
  process.exitCode = missed > 0 ? 1 : 0
}

if (values.table) process.stdout.write(table(faults))
else if (!values.postgres) await plantAll(() => inMemory)
else {
  const server = await PostgresServer.make({ folder, settings: { fsync: "off" } })
  const url = Redacted.make(server.urlOf("postgres"))
  // Tables of its own each time: records of a broken store would disturb the next one, and identifiers begin with 1.
  let made = 0
  const newStorage = () => {
    const options = { url, prefix: `fault_${++made}_` }
    const stores = Postgres.layer(options).pipe(Layer.provide(fixtures.seal), Layer.orDie)
    return Layer.effect(Storage, Effect.as(Effect.promise(() => Effect.runPromise(Postgres.migrate(options))), stores))
  }
  await plantAll(newStorage).finally(() => server.stop())
}
rmSync(folder, { recursive: true })
