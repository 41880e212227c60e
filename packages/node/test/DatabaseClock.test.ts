/** A node whose clock differs from that of the database says so, is not ready, and delivers nothing. */
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "@effect/vitest"
import { Database } from "@startlist/postgres"
import { Clock, Effect, Exit, Fiber, Metric, Stream, TestClock } from "effect"
import { makeClock } from "../src/data/DatabaseHealth.ts"

const gauge = () => {
  const pair = Metric.unsafeSnapshot().find(({ metricKey }) => metricKey.name === "startlist_clock_difference_seconds")
  return pair !== undefined && "value" in pair.metricState ? pair.metricState.value : undefined
}

/** A database whose clock is this many seconds behind, or that does not answer. */
const databaseBehind = (state: { seconds: number | undefined }) =>
  Database.make({
    sql: undefined as never,
    prefix: "startlist_",
    direct: () =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        state.seconds === undefined
          ? new SqlError({ cause: new Error("no database") })
          : Effect.succeed([{ now: now - state.seconds * 1000 }])),
    wake: Effect.void,
    wakeUps: Stream.empty
  })

describe("the clock of the database", () => {
  it.scoped("is compared at the start and every minute", () =>
    Effect.gen(function*() {
      const state = { seconds: 600 as number | undefined }
      const clock = yield* Effect.provideService(makeClock, Database.Database, databaseBehind(state))
      expect(gauge()).toBe(600)
      let isWorking = false
      const work = Effect.acquireUseRelease(
        Effect.sync(() => void (isWorking = true)),
        () => Effect.never,
        () => Effect.sync(() => void (isWorking = false))
      )
      const fiber = yield* Effect.fork(clock.whileItAgrees(work))
      const seen: Array<readonly [ahead: number | undefined, isReady: boolean, isWorking: boolean]> = []
      for (const seconds of [600, 30, -30, -31, undefined, 0.5]) {
        state.seconds = seconds
        yield* TestClock.adjust("1 minute")
        seen.push([seconds, Exit.isSuccess(yield* Effect.exit(clock.check)), isWorking])
      }
      expect(seen).toEqual([
        [600, false, false],
        [30, true, true],
        [-30, true, true],
        [-31, false, false],
        [undefined, false, false],
        [0.5, true, true]
      ])
      yield* Fiber.interrupt(fiber)
    }))
})
