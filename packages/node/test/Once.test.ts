/** Values computed on first use: an interrupted first caller does not affect others. */
import { describe, expect, it } from "@effect/vitest"
import { Callbacks, Memory } from "@startlist/core"
import { EventId } from "@startlist/core/Event"
import { Accounts } from "@startlist/pages"
import { Deferred, Duration, Effect, Fiber, Layer, Option, Redacted } from "effect"
import * as AccountStore from "../src/AccountStore.ts"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import * as Documentation from "../src/Documentation.ts"
import * as Dispatcher from "../src/internal/dispatcher.ts"
import { once } from "../src/internal/once.ts"
import * as LocalAccounts from "../src/LocalAccounts.ts"

const accounts = LocalAccounts.layer.pipe(
  Layer.provide(AccountStore.layerMemory),
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
      const kept = yield* once(make)
      const first = yield* Effect.fork(kept)
      yield* Deferred.await(begun)
      yield* Fiber.interruptFork(first)
      yield* Deferred.succeed(go, undefined)
      expect([yield* kept, yield* kept, made]).toEqual([1, 1, 1])
    }))

  it.scoped("also holds for the dispatcher, whose requests then begin without a fiber", () =>
    Effect.gen(function*() {
      const { begin, validate } = yield* Callbacks.Callbacks
      const to = { callbackUrl: "ftp://callback.example", timeout: Duration.seconds(2) }
      const post = { ...to, id: EventId.make("evt_1"), timestamp: 0, body: "{}", secrets: [], trace: Option.none() }
      const answers: Array<string> = []
      const beginOne = () => begin?.(post, ({ _tag }) => answers.push(_tag))
      beginOne()
      expect(answers).toEqual([])
      expect((yield* askTwice(validate({ ...to, challenge: "c", verifyToken: Redacted.make("v") })))._tag).toBe(
        "Forbidden"
      )
      yield* Effect.yieldNow()
      expect(answers).toEqual(["Forbidden"])
      beginOne()
      expect(answers).toEqual(["Forbidden", "Forbidden"])
    }).pipe(Effect.provide(Dispatcher.layerWith({ allow: [] }))))

  it.effect("also holds for the check of an unknown user's password", () =>
    Effect.gen(function*() {
      const { verifyPassword } = yield* Accounts.Accounts
      const check = yield* askTwice(verifyPassword("nobody@example.test", Redacted.make("a guess")))
      expect(check._tag).toBe("Unknown")
    }).pipe(Effect.provide(accounts)))

  it.effect("also holds for the API document and its page", () =>
    Effect.gen(function*() {
      const request = { method: "GET", query: "", headers: {}, body: new Uint8Array(), address: "192.0.2.1" }
      for (const { methods, path } of yield* Documentation.routes) {
        const get = methods["GET"]
        if (get === undefined) return expect.fail(`no GET of ${path}`)
        expect(yield* askTwice(get({ ...request, path }, []))).toMatchObject({ status: 200 })
      }
    }))
})
