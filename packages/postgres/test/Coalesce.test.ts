import type { Connection } from "@effect/sql/SqlConnection"
import { TransactionConnection } from "@effect/sql/SqlClient"
import { it } from "@effect/vitest"
import { Store } from "@startlist/core"
import { Deferred, Effect, Exit, Fiber, Option, Stream } from "effect"
import { describe, expect } from "vitest"
import * as Batch from "../src/internal/batch.ts"

/** A batched operation that returns its requests, refuses `"bad"`, and records its calls. */
const recorded = (keyOf?: (request: string) => string, isInProcess = false) => {
  const batches: Array<ReadonlyArray<string>> = []
  const refused = new Store.StoreError({ cause: { code: "22003" } })
  const run = (batch: ReadonlyArray<string>) =>
    Effect.zipRight(
      Effect.sync(() => batches.push(batch)),
      batch.includes("bad") ? Effect.fail(refused) : Effect.as(Effect.yieldNow(), batch)
    )
  return Effect.map(Batch.coalesce({ isInProcess, run, ...keyOf && { keyOf } }), (call) => ({ batches, call, refused }))
}

const never = () => Effect.dieMessage("the call runs no statement")

/** A connection of a transaction. */
const unused: Connection = {
  execute: never,
  executeRaw: never,
  executeValues: never,
  executeUnprepared: never,
  executeStream: () => Stream.die("the call runs no statement")
}

describe("batched calls", () => {
  it.live("calls of one tick are one batch, and each gets its own result", () =>
    Effect.gen(function*() {
      const { batches, call } = yield* recorded()
      const answers = yield* Effect.forEach(["a", "b", "c"], call, { concurrency: "unbounded" })
      expect(answers).toEqual(["a", "b", "c"])
      expect(batches).toEqual([["a", "b", "c"]])
      expect(yield* call("a")).toBe("a")
      expect(batches).toEqual([["a", "b", "c"], ["a"]])
    }))

  it.live("a lone call runs immediately; calls that arrive during it are batched", () =>
    Effect.gen(function*() {
      const { batches, call } = yield* recorded()
      yield* call("a")
      const callers = yield* Effect.forEach(["b", "c", "d"], (request) => Effect.fork(call(request)))
      yield* Effect.yieldNow()
      expect(batches).toEqual([["a"], ["b"]])
      expect(yield* Fiber.join(Fiber.all(callers))).toEqual(["b", "c", "d"])
      expect(batches).toEqual([["a"], ["b"], ["c", "d"]])
    }))

  for (const isInProcess of [false, true]) {
    const database = isInProcess ? "an in-process database" : "a server"
    it.live(`with ${database}, a call in a transaction is alone, in its fiber: others do not run on its connection`, () =>
      Effect.gen(function*() {
        const joined: Array<readonly [batch: ReadonlyArray<string>, isJoined: boolean]> = []
        const run = (batch: ReadonlyArray<string>) =>
          Effect.flatMap(Effect.serviceOption(TransactionConnection), (transaction) => {
            joined.push([batch, Option.isSome(transaction)])
            return Effect.as(Effect.sleep(1), batch)
          })
        const call = yield* Batch.coalesce({ isInProcess, run })
        const inTransaction = Effect.provideService(call("joined"), TransactionConnection, [unused, 0])
        const others = Effect.forEach(["a", "b", "c"], call, { concurrency: "unbounded" })
        yield* Effect.all([others, inTransaction, others], { concurrency: "unbounded" })
        expect(joined.filter(([batch, isJoined]) => isJoined || batch.includes("joined"))).toEqual([[["joined"], true]])
      }))
  }

  it.live("with an in-process database, all calls wait for the tick, and one statement runs at a time", () =>
    Effect.gen(function*() {
      const { batches, call } = yield* recorded(undefined, true)
      yield* call("a")
      yield* call("b")
      const requests = Array.from({ length: 40 }, (_, index) => String(index))
      expect(yield* Effect.forEach(requests, call, { concurrency: "unbounded" })).toEqual(requests)
      expect(batches).toEqual([["a"], ["b"], requests])
    }))

  it.live("a large backlog is split over the available statements, if each gets the minimum share", () =>
    Effect.gen(function*() {
      const batches: Array<number> = []
      const run = (batch: ReadonlyArray<number>) =>
        Effect.zipRight(Effect.sync(() => batches.push(batch.length)), Effect.as(Effect.yieldNow(), batch))
      const ask = (call: (request: number) => Effect.Effect<number, Store.StoreError>, count: number) => {
        const requests = Array.from({ length: count }, (_, index) => index)
        batches.length = 0
        return Effect.map(Effect.forEach(requests, call, { concurrency: "unbounded" }), (answers) => {
          expect(answers).toEqual(requests)
          return [...batches]
        })
      }
      const elsewhere = yield* Batch.coalesce({ isInProcess: false, minShare: 4, run })
      expect(yield* ask(elsewhere, 6)).toEqual([6])
      expect(yield* ask(elsewhere, 9)).toEqual([5, 4])
      const here = yield* Batch.coalesce({ isInProcess: true, minShare: 4, run })
      expect(yield* ask(here, 9)).toEqual([9])
    }))

  it.live("the calls of a refused batch run one by one: only the bad request fails", () =>
    Effect.gen(function*() {
      const { batches, call, refused } = yield* recorded()
      const answers = yield* Effect.forEach(["a", "bad", "c"], (request) => Effect.exit(call(request)), {
        concurrency: "unbounded"
      })
      expect(answers).toEqual([Exit.succeed("a"), Exit.fail(refused), Exit.succeed("c")])
      expect(batches).toEqual([["a", "bad", "c"], ["a"], ["bad"], ["c"]])
    }))

  it.live("a request that cannot be sent fails alone", () =>
    Effect.gen(function*() {
      const bug = new TypeError("bug")
      const call = yield* Batch.coalesce({
        isInProcess: false,
        run: (batch: ReadonlyArray<string>) => {
          if (batch.includes("bad")) throw bug
          return Effect.succeed(batch)
        }
      })
      const answers = yield* Effect.forEach(["a", "bad", "c"], (request) => Effect.exit(call(request)), {
        concurrency: "unbounded"
      })
      expect(answers).toEqual([Exit.succeed("a"), Exit.die(bug), Exit.succeed("c")])
      expect(yield* call("d")).toBe("d")
    }))

  it.live("two requests with one key are never in the same batch", () =>
    Effect.gen(function*() {
      const { batches, call } = yield* recorded((request) => request.slice(0, 1))
      yield* Effect.forEach(["a1", "b1", "a2", "a3"], call, { concurrency: "unbounded" })
      expect(batches).toEqual([["a1", "b1"], ["a2"], ["a3"]])
    }))

  it.live("a batch has requests of one group, and four batches run at the same time", () =>
    Effect.gen(function*() {
      const batches: Array<ReadonlyArray<number>> = []
      const fourRun = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      const run = (batch: ReadonlyArray<number>) =>
        Effect.gen(function*() {
          batches.push(batch)
          most = Math.max(most, ++running)
          if (running === 4) yield* Deferred.succeed(fourRun, undefined)
          yield* Deferred.await(fourRun)
          running--
          return batch
        })
      const call = yield* Batch.coalesce({ isInProcess: false, run, groupOf: (request) => request % 5 })
      const requests = Array.from({ length: 15 }, (_, index) => index)
      expect(yield* Effect.forEach(requests, call, { concurrency: "unbounded" })).toEqual(requests)
      expect(batches).toEqual([0, 1, 2, 3, 4].map((group) => [group, group + 5, group + 10]))
      expect(most).toBe(4)
    }))

  it.live("a call that is interrupted before its batch is not run", () =>
    Effect.gen(function*() {
      const { batches, call } = yield* recorded()
      const abandoned = yield* Effect.fork(call("abandoned"))
      const other = yield* Effect.fork(call("other"))
      yield* Effect.yieldNow()
      expect(abandoned.unsafePoll()).toBeNull()
      yield* Fiber.interrupt(abandoned)
      expect(yield* Fiber.join(other)).toBe("other")
      expect(batches).toEqual([["other"]])
    }))

  it.live("waiting calls fail immediately when the database is unavailable", () =>
    Effect.gen(function*() {
      const away = new Store.StoreError({ cause: new Error("away") })
      const call = yield* Batch.coalesce({ isInProcess: false, run: (_: ReadonlyArray<number>) => Effect.fail(away) })
      const numbers = Array.from({ length: 1000 }, (_, index) => index)
      const failures = yield* Effect.forEach(numbers, (number) => Effect.flip(call(number)), {
        concurrency: "unbounded"
      })
      expect(failures).toEqual(numbers.map(() => away))
    }))

  it.live("calls that wait for a lone call fail with it when the database is unavailable", () =>
    Effect.gen(function*() {
      const away = new Store.StoreError({ cause: new Error("away") })
      let isAway = false
      const run = (batch: ReadonlyArray<string>) =>
        Effect.flatMap(Effect.yieldNow(), () => isAway ? Effect.fail(away) : Effect.succeed(batch))
      const call = yield* Batch.coalesce({ isInProcess: false, run })
      yield* call("a")
      isAway = true
      const failures = yield* Effect.forEach(["alone", "other"], (request) => Effect.flip(call(request)), {
        concurrency: "unbounded"
      })
      expect(failures).toEqual([away, away])
    }))

  it.live("an interrupted lone call does not block others", () =>
    Effect.gen(function*() {
      const batches: Array<ReadonlyArray<string>> = []
      const run = (batch: ReadonlyArray<string>) =>
        Effect.suspend(() => {
          batches.push(batch)
          return batch.includes("silent") ? Effect.never : Effect.as(Effect.yieldNow(), batch)
        })
      const call = yield* Batch.coalesce({ isInProcess: false, run })
      yield* call("a")
      const silent = yield* Effect.fork(call("silent"))
      yield* Effect.yieldNow()
      expect(batches).toEqual([["a"], ["silent"]])
      yield* Fiber.interrupt(silent)
      const others = yield* Effect.forEach(["b", "c"], call, { concurrency: "unbounded" })
      expect(others).toEqual(["b", "c"])
      expect(batches).toEqual([["a"], ["silent"], ["b"], ["c"]])
    }))
})
