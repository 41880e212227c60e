/** Gauges of the queue: a long queue is counted rarely, and a slow count does not mean an unavailable database. */
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Metric, Stream, TestClock } from "effect"
import { Store } from "@startlist/core"
import { Database } from "@startlist/postgres"
import * as Metrics from "../src/telemetry/Metrics.ts"

/** The present values. */
const shown = (name: string): number => {
  const pair = Metric.unsafeSnapshot().find(({ metricKey }) => metricKey.name === `startlist_${name}`)
  return pair !== undefined && "value" in pair.metricState ? Number(pair.metricState.value) : NaN
}

/** A database that counts `pending` deliveries within this time. Without a number, the count fails. */
const counting = (counts: {
  duration: Duration.DurationInput
  pending?: number
  isAway?: boolean
  /** Time that a call takes. */
  answersAfter?: Duration.DurationInput
  asked: number
}) => {
  const failed = new Store.StoreError({ cause: new Error("canceling statement due to statement timeout") })
  const count = Effect.suspend(() => {
    counts.asked++
    const { duration, pending } = counts
    const result = pending === undefined ? failed : Effect.succeed([{ pending, due: 0, oldest: null }])
    return Effect.delay(result, duration)
  })
  const query = (name: string): Effect.Effect<ReadonlyArray<unknown>, Store.StoreError> =>
    name.endsWith("queue_look")
      ? count
      : counts.isAway === true
      ? failed
      : Effect.delay(Effect.succeed([]), counts.answersAfter ?? 0)
  return Database.make({
    sql: undefined as never,
    prefix: "",
    direct: ({ name }) => Effect.catchAll(query(name), (cause) => new SqlError({ cause })),
    wake: Effect.void,
    wakeUps: Stream.empty
  })
}

describe("the levels", () => {
  it.effect("a caller waits 2 seconds for a long count, which runs once and is not repeated soon", () =>
    Effect.gen(function*() {
      const database = { duration: Duration.seconds(4), pending: 7, asked: 0 }
      const look = yield* Effect.provideService(Metrics.makeSampleQueue, Database.Database, counting(database))
      const first = yield* Effect.fork(Effect.timed(look))
      yield* TestClock.adjust("2 seconds")
      expect(Duration.toSeconds((yield* Fiber.join(first))[0])).toBe(2)
      const second = yield* Effect.fork(look)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(second)
      expect([database.asked, shown("deliveries_pending"), shown("database_up")]).toEqual([1, 7, 1])
      yield* TestClock.adjust("79 seconds")
      yield* look
      expect(database.asked).toBe(1)
      yield* TestClock.adjust("1 second")
      yield* Effect.fork(look)
      yield* TestClock.adjust("4 seconds")
      expect(database.asked).toBe(2)
    }))

  it.effect("a count continues when its caller is interrupted", () =>
    Effect.gen(function*() {
      const database = { duration: Duration.seconds(1), pending: 8, asked: 0 }
      const look = yield* Effect.provideService(Metrics.makeSampleQueue, Database.Database, counting(database))
      const asking = yield* Effect.fork(look)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(asking)
      yield* TestClock.adjust("1 second")
      expect([database.asked, shown("deliveries_pending")]).toEqual([1, 8])
    }))

  it.effect("an interrupted check of the database does not affect other callers", () =>
    Effect.gen(function*() {
      const database = { duration: Duration.zero, pending: 9, answersAfter: Duration.seconds(1), asked: 0 }
      const look = yield* Effect.provideService(Metrics.makeSampleQueue, Database.Database, counting(database))
      const asking = yield* Effect.fork(look)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interruptFork(asking)
      const next = yield* Effect.fork(look)
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(next)
      expect([shown("deliveries_pending"), shown("database_up")]).toEqual([9, 1])
    }))

  it.effect("a caller waits 2 seconds for a database that hangs", () =>
    Effect.gen(function*() {
      const database = { duration: Duration.zero, answersAfter: Duration.minutes(1), asked: 0 }
      const look = yield* Effect.provideService(Metrics.makeSampleQueue, Database.Database, counting(database))
      const asking = yield* Effect.fork(look)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(asking)
      expect([database.asked, shown("database_up")]).toEqual([0, 0])
    }))

  it.effect("a database is unavailable if it does not answer, not if it cannot count in time", () =>
    Effect.gen(function*() {
      const database = { duration: Duration.zero, isAway: false, asked: 0 }
      const look = yield* Effect.provideService(Metrics.makeSampleQueue, Database.Database, counting(database))
      yield* look
      expect([database.asked, shown("database_up")]).toEqual([1, 1])
      database.isAway = true
      yield* TestClock.adjust("1 second")
      yield* look
      expect([database.asked, shown("database_up")]).toEqual([1, 0])
    }))
})
