/**
 * A reporter for vitest: the twenty slowest files of a run, the worker-seconds of each package, and the counts as the last line.
 */
import { relative } from "node:path"
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from "vitest/node"

const seconds = (millis: number): string => `${(millis / 1000).toFixed(1).padStart(7)} s`

/** Time in milliseconds: loading the file, its hooks and its tests. */
const durationOf = (module: TestModule): number => {
  const { collectDuration, duration } = module.diagnostic()
  return collectDuration + duration
}

/** Path of a file from the root of the repository. */
const pathOf = ({ moduleId }: TestModule): string => relative(process.cwd(), moduleId)

/** Worker-seconds by package, such as `packages/core`, and in all. Workers run at the same time. */
const totals = (modules: ReadonlyArray<TestModule>): ReadonlyArray<readonly [string, number]> => {
  const sums = new Map<string, number>()
  for (const module of modules) {
    for (const name of [pathOf(module).split("/").slice(0, 2).join("/"), "all packages"]) {
      sums.set(name, (sums.get(name) ?? 0) + durationOf(module))
    }
  }
  return [...sums].sort(([, a], [, b]) => b - a)
}

export class SlowestFiles implements Reporter {
  onTestRunEnd(
    modules: ReadonlyArray<TestModule>,
    errors: ReadonlyArray<SerializedError>,
    reason: TestRunEndReason
  ): void {
    const slowest = [...modules].sort((a, b) => durationOf(b) - durationOf(a)).slice(0, 20)
    if (modules.length > 1) {
      console.log("\nSlowest files:")
      for (const module of slowest) {
        console.log(`${seconds(durationOf(module))}  ${pathOf(module)}`)
      }
      console.log("\nWorker-seconds:")
      for (const [name, millis] of totals(modules)) console.log(`${seconds(millis)}  ${name}`)
    }
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      // A file that cannot be loaded has no tests.
      if (module.errors().length > 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state !== "pending") counts[state]++
      }
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
    // A run can fail although all tests pass. These are the reasons.
    for (const { message } of errors) console.log(`outside of the tests: ${message}`)
    if (counts.failed === 0 && reason !== "passed") console.log(`the run is ${reason}`)
    process.once("exit", (code) => {
      if (code !== 0) console.log(`vitest ends with status ${code}`)
    })
  }
}
