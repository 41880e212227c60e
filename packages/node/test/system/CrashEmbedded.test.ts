/** The same as `Crash.test.ts`, on the embedded database. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { killAgainAndAgain } from "./support/killAgainAndAgain.ts"

it.scopedLive("8 kills on the embedded database lose nothing", () =>
  Effect.gen(function*() {
    const { answered, broken } = yield* killAgainAndAgain({ DATA_DIR: yield* temporaryFolder }, 8)
    expect(broken).toEqual([])
    expect(answered.changes).toBeGreaterThan(8)
    expect(answered.refreshes).toBeGreaterThan(8)
  }))
