/** Suites as tests of vitest, the only module that needs it. */
import { afterAll, describe, it } from "vitest"
import type { Suite } from "./Suite.ts"

export interface Options {
  /** Milliseconds for each test, with what opens the implementation. Default: 60 000. */
  readonly timeout?: number
}

/** A `describe` with a test for each law. */
export const describeSuite = ({ close, name, tests }: Suite, { timeout = 60_000 }: Options = {}): void =>
  void describe(name, () => {
    afterAll(close, timeout)
    for (const { name, run } of tests) it(name, run, timeout)
  })
