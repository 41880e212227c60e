/** Suites as tests of vitest. Only this module needs vitest. */
import { afterAll, describe, it } from "vitest"
import type { Suite } from "./Suite.ts"

export interface Options {
  /** Timeout of each test in milliseconds, with the time to open the implementation. Default: 60 000. */
  readonly timeout?: number
}

/** Quotes a name for the shell, as a regular expression of vitest. */
const quoted = (name: string): string => `'${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("'", "'\\''")}'`

/** A `describe` with a test for each law. Prints the number of random programs that ran. */
export const describeSuite = (
  { close, name, programs, tests }: Suite,
  { timeout = 60_000 }: Options = {}
): void =>
  void describe(name, () => {
    afterAll(close, timeout)
    afterAll(() => {
      if (programs() > 0) console.info(`${name}: ${programs()} random programs ran`)
    })
    for (const test of tests) {
      it(test.name, ({ signal }) => test.run(`npx vitest run -t ${quoted(`${name} ${test.name}`)}`, signal), timeout)
    }
  })
