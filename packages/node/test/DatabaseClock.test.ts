/** A node whose clock differs from that of the database says so, is not ready, and delivers and removes nothing. */
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "@effect/vitest"
import { Database } from "@startlist/postgres"
import { eventually } from "@startlist/test-support/Eventually"
import { shifted } from "@startlist/test-support/ShiftedClock"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Metric, Redacted, Runtime, Stream, TestClock } from "effect"
import { makeClock } from "../src/data/DatabaseHealth.ts"
import { run } from "../src/Service.ts"
import * as Configuration from "../src/settings/Configuration.ts"

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

const day = Duration.toMillis("1 day")

/** A clock that is ahead, and whose pauses are short: only timeouts take their time. */
const ahead = (by: number): Clock.Clock =>
  shifted(by, (pause) => Duration.greaterThan(pause, "10 seconds") ? Duration.millis(50) : pause)

/** Starts a service with this clock, which ends with the scope. */
const start = (configuration: Configuration.Configuration, clock: Clock.Clock) =>
  Effect.gen(function*() {
    const listening = yield* Deferred.make<string>()
    const service = Effect.withClock(run(configuration, (url) => Deferred.succeed(listening, url)), clock)
    yield* Effect.acquireRelease(
      Effect.sync(() => Runtime.runFork(Runtime.defaultRuntime)(service)),
      Fiber.interrupt
    )
    return yield* Deferred.await(listening)
  })

it.scopedLive("a node whose clock is two days ahead removes no session; one with the right clock removes the old one", () =>
  Effect.gen(function*() {
    const { admin, url } = yield* TestDatabase.make
    const configuration = yield* Configuration.decode({
      DATABASE_URL: Redacted.value(url),
      OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
      MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
      PORT: "0",
      LOG_LEVEL: "none"
    }, false)
    const now = yield* Clock.currentTimeMillis
    yield* Effect.promise(async () => {
      for (const [hash, at] of [["new", now], ["old", now - 2 * day]] as const) {
        await admin.query(
          "INSERT INTO startlist_sessions (hash, user_id, started_at, seen_at) VALUES ($1, 1, $2, $2)",
          [hash, at]
        )
      }
    })
    const sessions = () =>
      admin.query("SELECT hash FROM startlist_sessions").then(({ rows }): ReadonlyArray<string> =>
        rows.map(({ hash }) => hash)
      )
    const wrong = yield* start(configuration, ahead(2 * day))
    expect((yield* Effect.promise(() => fetch(`${wrong}/readyz`))).status).toBe(503)
    expect(yield* Effect.promise(sessions)).toHaveLength(2)
    yield* start(configuration, ahead(0))
    yield* Effect.promise(() => eventually(sessions, (left) => !left.includes("old")))
    expect(yield* Effect.promise(sessions)).toEqual(["new"])
  }))
