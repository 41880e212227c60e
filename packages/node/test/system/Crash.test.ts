/** The service is killed under load repeatedly: everything that it has confirmed is stored. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import { killAgainAndAgain } from "./support/killAgainAndAgain.ts"

it.scopedLive(
  "50 kills on PostgreSQL lose no change, event or refresh, and deliver no event that was not saved",
  () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const { answered, broken } = yield* killAgainAndAgain(installation(Redacted.value(url)), 50)
      expect(broken).toEqual([])
      expect(answered.changes).toBeGreaterThan(100)
      expect(answered.refreshes).toBeGreaterThan(100)
    })
)
