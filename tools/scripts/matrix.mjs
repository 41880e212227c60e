/**
 * `npm run matrix [-- VERSION… FILTER…]`: the fast tier, which includes one complete loop over the service, on every
 * supported Node version. Then the laws of stores with each later version of vitest, and stores and migrations on each
 * earlier version of PostgreSQL: only the oldest one if versions of Node are given. Filters are those of vitest. Prints a
 * table. Fails if a test fails.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { install, installVitest, postgres, versions } from "./runtimes.mjs"

const root = fileURLToPath(new URL("../../", import.meta.url))
const report = join(root, "node_modules", ".cache", `matrix-${process.pid}.json`)
const args = process.argv.slice(2)
const asked = args.filter((arg) => /^\d+(\.\d+)*$/.test(arg))
const filters = args.filter((arg) => !asked.includes(arg))

/** Versions of vitest that `@startlist/testing` supports beside the one of this repository, each with its Node. */
const vitests = [["20.19", "4.1"], ["26", "5.1"]]

const found = (binary) => execFileSync(binary, ["--version"], { encoding: "utf8" }).trim()

const run = (version, vitest, options, what, environment = {}) => {
  const node = install(version)
  const name = `Node ${found(node)}, ${what}`
  console.error(name)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const began = performance.now()
  const { status, stderr, stdout } = spawnSync(node, [vitest, "run", "--allowOnly=false", ...reporters, ...options], {
    cwd: root,
    // Programs that tests start by name run on this version too.
    env: { ...process.env, ...environment, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024
  })
  if (status !== 0) console.error(stdout + stderr)
  const { numFailedTests, numPassedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"))
  rmSync(report)
  const seconds = Math.round((performance.now() - began) / 1000)
  return { status, row: [name, numPassedTests, numFailedTests, numPendingTests, seconds] }
}

const ownVitest = join(root, "node_modules/vitest/vitest.mjs")

const runFastTier = (version) => run(version, ownVitest, ["--project", "fast", ...filters], "the fast tier")

const runLaws = ([version, vitest]) =>
  run(version, installVitest(vitest), ["--config", "tools/scripts/laws.config.mjs"], `the laws with vitest ${vitest}`)

/** The laws of the stores, all migrations, races, and what each statement reads: plans differ most between versions. */
const onPostgres = ["Postgres", "Migrations", "Concurrency", "Interleavings", "Claim", "Queries", "system/Backlog"]

const runStores = (name) => {
  const binaries = install(name)
  const files = [
    ...onPostgres.map((name) => `packages/postgres/test/${name}.test.ts`),
    "packages/node/test/EarlierSteps"
  ]
  const options = ["--project", "fast", "--project", "system", ...files]
  const what = found(join(binaries, "postgres"))
  return run(asked.at(-1) ?? versions.at(-1), ownVitest, options, what, { TEST_POSTGRESQL: binaries })
}

const results = [
  ...(asked.length > 0 ? asked : versions).map(runFastTier),
  ...(filters.length > 0 ? [] : vitests.map(runLaws)),
  ...(filters.length > 0 ? [] : Object.keys(postgres).slice(0, asked.length > 0 ? 1 : undefined).map(runStores))
]
const table = [["run", "passed", "failed", "skipped", "seconds"], ["---", "---:", "---:", "---:", "---:"]]
for (const cells of [...table, ...results.map(({ row }) => row)]) console.log(`| ${cells.join(" | ")} |`)
process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1
