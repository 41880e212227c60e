/**
 * `npm run matrix [-- VERSION… FILTER…]`: the fast tier, which includes one complete loop over the service, on every
 * supported Node version. Then the laws of stores with each later version of vitest. Filters are those of vitest. Prints a table.
 * Fails if a test fails.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { install, installVitest, versions } from "./runtimes.mjs"

const root = fileURLToPath(new URL("../../", import.meta.url))
const report = join(root, "node_modules", ".cache", `matrix-${process.pid}.json`)
const args = process.argv.slice(2)
const asked = args.filter((arg) => /^\d+(\.\d+)*$/.test(arg))
const filters = args.filter((arg) => !asked.includes(arg))

/** Versions of vitest that `@startlist/testing` supports beside the one of this repository, each with its Node. */
const vitests = [["20.19", "4.1"], ["26", "5.1"]]

const run = (version, vitest, options, what) => {
  const node = install(version)
  const found = execFileSync(node, ["--version"], { encoding: "utf8" }).trim()
  console.error(`Node ${found} runs ${what}.`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const began = performance.now()
  const { status, stderr, stdout } = spawnSync(node, [vitest, "run", "--allowOnly=false", ...reporters, ...options], {
    cwd: root,
    // Programs that tests start by name run on this version too.
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024
  })
  if (status !== 0) console.error(stdout + stderr)
  const { numFailedTests, numPassedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"))
  rmSync(report)
  const seconds = Math.round((performance.now() - began) / 1000)
  return { status, row: [`${found}, ${what}`, numPassedTests, numFailedTests, numPendingTests, seconds] }
}

const runFastTier = (version) =>
  run(version, join(root, "node_modules/vitest/vitest.mjs"), ["--project", "fast", ...filters], "the fast tier")

const runLaws = ([version, vitest]) =>
  run(version, installVitest(vitest), ["--config", "tools/scripts/laws.config.mjs"], `the laws with vitest ${vitest}`)

const results = [
  ...(asked.length > 0 ? asked : versions).map(runFastTier),
  ...(filters.length > 0 ? [] : vitests.map(runLaws))
]
const table = [["run", "passed", "failed", "skipped", "seconds"], ["---", "---:", "---:", "---:", "---:"]]
for (const cells of [...table, ...results.map(({ row }) => row)]) console.log(`| ${cells.join(" | ")} |`)
process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1
