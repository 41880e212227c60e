import { it } from "@effect/vitest"
import { VirtualTime } from "@startlist/testing"
import { Effect } from "effect"
import { expect } from "vitest"

it.live("the event loop turns before each run", () =>
  Effect.gen(function*() {
    let turns = 0
    for (let runs = 0; runs < 20; runs++) {
      setImmediate(() => turns++)
      yield* VirtualTime.run(Effect.sleep("1 day"), { seed: runs })
      expect(turns).toBe(runs + 1)
    }
  }))
