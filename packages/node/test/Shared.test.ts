import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Ref, TestClock } from "effect"
import { shared } from "../src/SharedWork.ts"

const makeWork = Effect.gen(function*() {
  const runs = yield* Ref.make(0)
  const work = Effect.delay(Ref.updateAndGet(runs, (count) => count + 1), "1 second")
  return { runs, ask: yield* shared(work, Duration.seconds(5)) }
})

describe("shared work", () => {
  it.effect("runs once for concurrent callers and for calls shortly after, and again later", () =>
    Effect.gen(function*() {
      const { ask } = yield* makeWork
      const asking = yield* Effect.fork(Effect.all([ask, ask, ask], { concurrency: "unbounded" }))
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(asking)).toEqual([1, 1, 1])
      yield* TestClock.adjust("4 seconds")
      expect(yield* ask).toBe(1)
      yield* TestClock.adjust("1 second")
      const again = yield* Effect.fork(ask)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(again)).toBe(2)
    }))

  it.effect("continues if its first caller is interrupted at any moment", () =>
    Effect.gen(function*() {
      const { ask, runs } = yield* makeWork
      for (let turns = 0; turns < 20; turns++) {
        const first = yield* Effect.fork(ask)
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        const second = yield* Effect.fork(ask)
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(second)).toBe(turns + 1)
        expect(yield* Ref.get(runs)).toBe(turns + 1)
        yield* TestClock.adjust("5 seconds")
      }
    }))
})
