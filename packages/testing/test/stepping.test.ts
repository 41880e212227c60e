import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { interruptAt, stopAt } from "../src/internal/stepping.ts"

const saves = Effect.all(Array.from({ length: 4 }, () => Effect.yieldNow()), { concurrency: "unbounded" })

it.live("an operation that runs others at the same time ends, wherever it is interrupted or stopped", () =>
  Effect.gen(function*() {
    const { end, taken } = yield* stopAt(saves, Infinity)
    yield* end
    const { steps } = taken()
    const interrupted: Array<boolean> = []
    for (let step = 0; step < steps; step++) {
      interrupted.push((yield* interruptAt(saves, step))._tag === "Failure")
      const stopped = yield* stopAt(saves, step)
      expect((yield* stopped.end)._tag).toBe("Success")
    }
    expect(interrupted[0]).toBe(true)
    expect(interrupted.filter(Boolean).length).toBeGreaterThan(steps / 2)
  }))
