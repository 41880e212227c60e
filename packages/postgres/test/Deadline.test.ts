import { Effect, Either, Fiber, FiberId, Option } from "effect"
import { expect, it, vi } from "vitest"
import { deadlineMillis, within } from "../src/internal/statement.ts"

it("an interrupted call ends at any step", async () => {
  for (let last = 0; last < 40; last++) {
    let step = 0
    const fiber = Effect.runFork(within(Effect.never), {
      scheduler: {
        scheduleTask: (task) => queueMicrotask(task),
        shouldYield: (running) => {
          if (step++ !== last) return false
          running.unsafeInterruptAsFork(FiberId.none)
          return 0
        }
      }
    })
    await new Promise((resolve) => setImmediate(resolve))
    fiber.unsafeInterruptAsFork(FiberId.none)
    const ended = await Effect.runPromise(Effect.timeoutOption(Effect.disconnect(Fiber.await(fiber)), 1000))
    expect(Option.isSome(ended), `interrupted at step ${last}`).toBe(true)
  }
})

it("at the deadline a call is interrupted, so that it commits nothing later, also if its caller cannot be", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    let isInterrupted = false
    const call = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true)))
    const ended = Effect.runPromise(Effect.either(Effect.uninterruptible(within(call))))
    await vi.advanceTimersByTimeAsync(deadlineMillis)
    expect([Either.isLeft(await ended), isInterrupted]).toEqual([true, true])
  } finally {
    vi.useRealTimers()
  }
})
