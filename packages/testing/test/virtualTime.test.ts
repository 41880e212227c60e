import { it } from "@effect/vitest"
import { VirtualTime } from "@startlist/testing"
import { Effect } from "effect"
import { expect, vi } from "vitest"

it.live("the event loop turns before each run", () =>
  Effect.gen(function*() {
    let turns = 0
    for (let runs = 0; runs < 20; runs++) {
      setImmediate(() => turns++)
      yield* VirtualTime.run(Effect.sleep("1 day"), { seed: runs })
      expect(turns).toBe(runs + 1)
    }
  }))

it("also under fake timers", async () => {
  vi.useFakeTimers()
  try {
    expect(await Effect.runPromise(VirtualTime.run(Effect.as(Effect.sleep("1 day"), "slept"), { seed: 1 }))).toBe(
      "slept"
    )
  } finally {
    vi.useRealTimers()
  }
})
