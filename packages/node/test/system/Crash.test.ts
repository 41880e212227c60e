/** The service is killed under load repeatedly: everything that it has confirmed is stored. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import { killAgainAndAgain } from "./support/killAgainAndAgain.ts"

it.scopedLive(
  "20 kills on PostgreSQL lose no change, event or refresh, and deliver no event that was not saved",
  () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const { answered, broken } = yield* killAgainAndAgain(installation(Redacted.value(url)), 20)
      expect(broken).toEqual([])
      expect(answered.changes).toBeGreaterThan(40)
      expect(answered.refreshes).toBeGreaterThan(40)
    })
)
