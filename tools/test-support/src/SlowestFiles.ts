/** A reporter for vitest: the twenty slowest files of a run, and its counts as the last line. */
import { relative } from "node:path"
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from "vitest/node"

const seconds = (millis: number): string => `${(millis / 1000).toFixed(1).padStart(7)} s`

/** Time in milliseconds: loading the file, its hooks and its tests. */
const durationOf = (module: TestModule): number => {
  const { collectDuration, duration } = module.diagnostic()
  return collectDuration + duration
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
        console.log(`${seconds(durationOf(module))}  ${relative(process.cwd(), module.moduleId)}`)
      }
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
