/** Work that callers share: an interrupted first caller does not affect others. */
import { HttpConfig } from "@startlist/http"
import { describe, expect, it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Accounts } from "@startlist/pages"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted, Ref, TestClock } from "effect"
import * as MemoryAccounts from "@startlist/test-support/MemoryAccounts"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import * as ServiceRoutes from "../src/ServiceRoutes.ts"
import { shared } from "../src/SharedWork.ts"
import * as LocalAccounts from "../src/accounts/LocalAccounts.ts"

const accounts = LocalAccounts.layer.pipe(
  Layer.provide(MemoryAccounts.accounts),
  Layer.provide([Memory.layer, TestSecrets.layer("once")])
)

/** Uses the value, is interrupted while it waits, and uses it again. */
const askTwice = <A, E, R>(ask: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const first = yield* Effect.fork(ask)
    yield* Effect.yieldNow()
    expect(first.unsafePoll()).toBeNull()
    yield* Fiber.interruptFork(first)
    return yield* ask
  })

describe("a value that is computed on first use", () => {
  it.effect("is computed once and completely, even if its first caller is interrupted", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      let made = 0
      const make = Effect.gen(function*() {
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(go)
        return ++made
      })
      const kept = yield* shared(make)
      const first = yield* Effect.fork(kept)
      yield* Deferred.await(begun)
      yield* Fiber.interruptFork(first)
      yield* Deferred.succeed(go, undefined)
      expect([yield* kept, yield* kept, made]).toEqual([1, 1, 1])
    }))

  it.effect("is computed again after a failure", () =>
    Effect.gen(function*() {
      let made = 0
      const value = yield* shared(Effect.suspend(() => ++made === 1 ? Effect.die("not loaded") : Effect.succeed(made)))
      expect(yield* Effect.exit(value)).toEqual(Exit.die("not loaded"))
      expect([yield* value, yield* value]).toEqual([2, 2])
    }))

  it.effect("also holds for the check of an unknown user's password", () =>
    Effect.gen(function*() {
      const { verifyPassword } = yield* Accounts.Accounts
      const check = yield* askTwice(verifyPassword("nobody@example.test", Redacted.make("a guess")))
      expect(check._tag).toBe("Unknown")
    }).pipe(Effect.provide(accounts)))

  it.effect("also holds for the API document and its page", () =>
    Effect.gen(function*() {
      const request = { method: "GET", query: "", headers: {}, body: new Uint8Array(), address: "192.0.2.1" }
      for (const place of (yield* ServiceRoutes.descriptionRoutes).keys()) {
        // New routes: those of one call share the document.
        const { methods = {}, path = "" } = (yield* ServiceRoutes.descriptionRoutes)[place] ?? {}
        const get = methods["GET"]
        if (get === undefined) return expect.fail(`no GET of ${path}`)
        expect(yield* askTwice(get({ ...request, path }, []))).toMatchObject({ status: 200 })
      }
    }).pipe(Effect.provide(HttpConfig.layerLocal)))
})

const makeWork = Effect.gen(function*() {
  const runs = yield* Ref.make(0)
  const work = Effect.delay(Ref.updateAndGet(runs, (count) => count + 1), "1 second")
  return { runs, ask: yield* shared(work, Duration.seconds(5)) }
})

describe("work whose result is shared for some time", () => {
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

  it.effect("runs again after the clock was set back", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const { ask } = yield* makeWork
      for (const run of [1, 2]) {
        const asking = yield* Effect.fork(ask)
        yield* TestClock.adjust("1 second")
        expect(yield* Fiber.join(asking)).toBe(run)
        yield* TestClock.setTime(0)
      }
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
