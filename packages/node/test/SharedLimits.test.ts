/** Limits that all nodes share, in PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { FailureLimit } from "@startlist/http"
import { Postgres, Seal } from "@startlist/postgres"
import { layer as testDatabase, TestDatabase } from "@startlist/test-support/TestDatabase"
import { Context, Duration, Effect, Layer, Option, Redacted, TestClock } from "effect"
import * as SharedLimits from "../src/data/SharedLimits.ts"
import * as ServiceTables from "../src/data/ServiceTables.ts"

const seal = Seal.layerWith({ key: Redacted.make(Buffer.alloc(32, 3).toString("base64")) })

const postgres = Layer.unwrapEffect(
  Effect.map(TestDatabase, ({ url }) => Postgres.layer({ url, migrations: [ServiceTables.migrations()] }))
).pipe(Layer.provide([seal, testDatabase]), Layer.orDie)

/** The limits of a node, with counters of its own. */
const node = Effect.map(
  Layer.build(Layer.fresh(SharedLimits.layer(Layer.fresh(FailureLimit.layerMemory)))),
  (context) => Context.get(context, FailureLimit.FailureLimit)
)

const limit = { name: "test", count: 3, window: Duration.minutes(1) }

layer(postgres)("limits in the database", (it) => {
  it.scoped("what counts for the installation counts for all nodes, and other limits for each node", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* node, yield* node]
      const shared: FailureLimit.Key = { limit: { ...limit, ofInstallation: true }, value: "7" }
      expect(yield* Effect.forEach([one, other, one], ({ take }) => take([shared])))
        .toEqual([Option.none(), Option.none(), Option.none()])
      yield* TestClock.adjust("20 seconds")
      expect(yield* other.take([shared])).toEqual(Option.some(Duration.seconds(40)))
      yield* one.giveBack([shared])
      expect(yield* other.take([shared])).toEqual(Option.none())
      expect(Option.isSome(yield* one.take([shared]))).toBe(true)
      yield* TestClock.adjust("40 seconds")
      expect(yield* one.take([shared])).toEqual(Option.none())

      const own: FailureLimit.Key = { limit, value: "7" }
      yield* Effect.replicateEffect(one.take([own]), 3)
      expect(Option.isSome(yield* one.take([own]))).toBe(true)
      expect(yield* other.take([own])).toEqual(Option.none())
    }))

  it.scoped("a key that was given back completely begins a new window", () =>
    Effect.gen(function*() {
      const { giveBack, take } = yield* node
      const running: FailureLimit.Key = { limit: { ...limit, count: 1, ofInstallation: true }, value: "running" }
      expect(yield* take([running])).toEqual(Option.none())
      yield* TestClock.adjust("50 seconds")
      yield* giveBack([running])
      expect(yield* take([running])).toEqual(Option.none())
      yield* TestClock.adjust("20 seconds")
      expect(yield* take([running])).toEqual(Option.some(Duration.seconds(40)))
    }))

  it.scoped("after the clock is set back, a window lasts no longer than before; a slower node does not end it", () =>
    Effect.gen(function*() {
      const { take } = yield* node
      const key: FailureLimit.Key = { limit: { ...limit, count: 1, ofInstallation: true }, value: "set back" }
      yield* TestClock.setTime(Date.UTC(2026, 0, 2))
      expect(yield* take([key])).toEqual(Option.none())
      yield* TestClock.setTime(Date.UTC(2026, 0, 2) - 30_000)
      expect(yield* take([key])).toEqual(Option.some(Duration.seconds(90)))
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      expect(yield* take([key])).toEqual(Option.none())
      expect(yield* take([key])).toEqual(Option.some(Duration.minutes(1)))
    }))

  it.scoped("parallel attempts on two nodes never take more than are left", () =>
    Effect.gen(function*() {
      const nodes = [yield* node, yield* node]
      const key: FailureLimit.Key = { limit: { ...limit, ofInstallation: true }, value: "8" }
      const taken = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, place) => nodes[place % 2]),
        (limits) => limits === undefined ? Effect.succeedNone : limits.take([key]),
        { concurrency: "unbounded" }
      )
      expect(taken.filter(Option.isNone)).toHaveLength(limit.count)
    }))
})
