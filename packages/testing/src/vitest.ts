/** Suites as tests of vitest, the only module that needs it. */
import { afterAll, describe, it } from "vitest"
import type { Suite } from "./Suite.ts"

export interface Options {
  /** Milliseconds for each test, with what opens the implementation. Default: 60 000. */
  readonly timeout?: number
}

/** For the shell, and as a regular expression of vitest. */
const quoted = (name: string): string => `'${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("'", "'\\''")}'`

/** A `describe` with a test for each law. */
export const describeSuite = ({ close, name, tests }: Suite, { timeout = 60_000 }: Options = {}): void =>
  void describe(name, () => {
    afterAll(close, timeout)
    for (const test of tests) {
      it(test.name, () => test.run(`npx vitest run -t ${quoted(`${name} ${test.name}`)}`), timeout)
    }
  })
