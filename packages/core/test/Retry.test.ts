/** Law 1b: all successful repeats of one request give the same answer, until it is used, revoked or too old. */
import { describe, expect, it } from "@effect/vitest"
import { type Application, Audit, Grant, Memory, OAuth, Services, type User } from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { Duration, Effect, Either, Layer, Option, Redacted, TestClock } from "effect"
import {
  authenticate,
  type Client,
  connected,
  consent,
  exchange,
  layer,
  layerWith,
  makeClient,
  makeUser,
  refresh,
  refusal
} from "./support/fixture.ts"

const key = (text: string) => ({ idempotencyKey: Option.some(text) })

const grantOf = (application: Application.ApplicationId, user: User.UserId) =>
  Effect.flatMap(
    Grant.GrantStore,
    (grants) => Effect.map(Effect.flatten(grants.find(application, user)), ({ grant }) => grant)
  )

const revokeByUser = (client: Client, user: User.User) =>
  Effect.flatMap(OAuth.OAuth, (oauth) => oauth.revokeByUser(client.id, user.id))

describe("a refresh that is sent again", () => {
  it.effect("with the same Idempotency-Key gets the same answer for ten minutes, and changes nothing", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const second = yield* refresh(client, first.refreshToken, key("a"))
      const saved = yield* grantOf(client.id, user.id)
      yield* TestClock.adjust("599999 millis")
      expect(yield* refresh(client, first.refreshToken, key("a"))).toEqual(second)
      expect(yield* grantOf(client.id, user.id)).toEqual(saved)
      yield* TestClock.adjust("1 millis")
      expect(yield* refusal(refresh(client, first.refreshToken, key("a")))).toBe("replaced")
    }).pipe(Effect.provide(layer)))

  it.effect("with another key or none, or by another client, gets nothing", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken, key("a"))
      const thief = yield* makeClient()
      expect(yield* refusal(refresh(client, first.refreshToken, key("b")))).toBe("replaced")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
      expect(yield* refusal(refresh(thief, first.refreshToken, key("a")))).toBe("mismatch")
      expect(yield* authenticate(second.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("gets the same answer after its access token was used", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken, key("a"))
      expect(yield* authenticate(second.accessToken)).toBe("good")
      expect(yield* refresh(client, first.refreshToken, key("a"))).toEqual(second)
    }).pipe(Effect.provide(layer)))

  it.effect("gets nothing once its refresh token was used, nor after a revocation", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const second = yield* refresh(client, first.refreshToken, key("a"))
      const third = yield* refresh(client, second.refreshToken, key("b"))
      yield* revokeByUser(client, user)
      expect(yield* refusal(refresh(client, second.refreshToken, key("b")))).toBe("revoked")
      const other = yield* connected
      const next = yield* refresh(other.client, other.first.refreshToken, key("a"))
      yield* refresh(other.client, next.refreshToken)
      expect(yield* refusal(refresh(other.client, other.first.refreshToken, key("a")))).toBe("replaced")
      expect(yield* authenticate(third.accessToken)).toBe("@startlist/core/InvalidToken")
    }).pipe(Effect.provide(layer)))

  it.effect("without a key gets nothing by default", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
      expect(yield* authenticate(second.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("without a key gets nothing from a node whose clock is behind", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      yield* TestClock.setTime(5000)
      yield* refresh(client, first.refreshToken)
      yield* TestClock.setTime(4999)
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
    }).pipe(Effect.provide(layer)))

  it.effect("without a key gets the same answer within the time that is set for that", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("29999 millis")
      expect(yield* refresh(client, first.refreshToken)).toEqual(second)
      yield* TestClock.adjust("1 millis")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
    }).pipe(Effect.provide(layerWith({ refreshRetryWithoutKey: Duration.seconds(30) }))))

  it.effect("fifty parallel requests with one key get one answer; with fifty keys one gets an answer", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* connected, yield* connected]
      const ask = (of: typeof other, keyOf: (index: number) => string) =>
        Effect.forEach(
          Array.from({ length: 50 }).keys(),
          (index) => Effect.either(refresh(of.client, of.first.refreshToken, key(keyOf(index)))),
          { concurrency: "unbounded" }
        )
      const same = yield* ask(one, () => "one")
      const texts = same.flatMap((one) => Either.isRight(one) ? [Redacted.value(one.right.refreshToken)] : [])
      expect(texts).toEqual(Array(50).fill(texts[0]))
      expect((yield* ask(other, String)).filter(Either.isRight).length).toBe(1)
    }).pipe(Effect.provide(layer)))

  it.effect("gets the same answer from a node whose present key is another, as long as it knows the old one", () =>
    Effect.gen(function*() {
      const stores = yield* Layer.build(Layer.mergeAll(Memory.layer, TestUsers.layer, ScriptedCallbacks.layer))
      const node = (label: string, keys: readonly [string, ...ReadonlyArray<string>]) =>
        Services.layer.pipe(
          Layer.provideMerge(Layer.merge(Audit.none, TestSecrets.layer(label, keys))),
          Layer.provideMerge(Layer.succeedContext(stores))
        )
      const { client, first, second } = yield* Effect.gen(function*() {
        const { client, first } = yield* connected
        return { client, first, second: yield* refresh(client, first.refreshToken, key("a")) }
      }).pipe(Effect.provide(node("one", ["old"])))
      yield* Effect.gen(function*() {
        expect(yield* refresh(client, first.refreshToken, key("a"))).toEqual(second)
      }).pipe(Effect.provide(node("two", ["new", "old"])))
      yield* Effect.gen(function*() {
        expect(yield* refusal(refresh(client, first.refreshToken, key("a")))).toBe("unknown")
      }).pipe(Effect.provide(node("three", ["new"])))
    }).pipe(Effect.scoped))
})

describe("a refresh token that no key made", () => {
  it.effect("tells an application nothing about the grants of another one", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const stranger = yield* makeUser()
      const other = yield* makeClient()
      for (const { id } of [user, stranger]) {
        const madeUp = Redacted.make(`sl_rt_${client.id}_${id}_1_1_${"x".repeat(65)}`)
        expect(yield* refusal(refresh(other, madeUp))).toBe("unknown")
      }
      expect(yield* refusal(refresh(other, first.refreshToken))).toBe("mismatch")
    }).pipe(Effect.provide(layer)))

  it.effect("is unknown and has no effect, whatever it names", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const second = yield* refresh(client, first.refreshToken)
      const third = yield* refresh(client, second.refreshToken)
      const made = Redacted.value(first.refreshToken)
      for (const [epoch, generation] of [[1, 1], [1, 2], [1, 3], [1, 4], [0, 1], [2, 3], [1, 0]]) {
        const forged = made.replace(/_1_1_/, `_${epoch}_${generation}_`)
        const texts = [`${made}x`, made.slice(0, -1), ...forged === made ? [] : [forged]]
        for (const text of texts) expect(yield* refusal(refresh(client, Redacted.make(text)))).toBe("unknown")
        yield* Effect.flatMap(OAuth.OAuth, (oauth) => oauth.revoke(client, Redacted.make(`${made}x`)))
      }
      expect(yield* authenticate(third.accessToken)).toBe("good")
      expect((yield* grantOf(client.id, user.id)).status).toBe("active")
    }).pipe(Effect.provide(layer)))
})

describe("an exchange that is sent again", () => {
  it.effect("with the same Idempotency-Key gets the same answer, with the same state", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser(), { state: Option.some("opaque") })
      const first = yield* exchange(client, code, key("a"))
      yield* TestClock.adjust("299999 millis")
      expect(yield* exchange(client, code, key("a"))).toEqual(first)
      yield* TestClock.adjust("1 millis")
      expect(yield* refusal(exchange(client, code, key("a")))).toBe("unknown")
      expect(yield* authenticate(first.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("without a key is refused, also by a node whose clock is behind", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser())
      yield* TestClock.setTime(5000)
      const first = yield* exchange(client, code)
      yield* TestClock.setTime(4999)
      expect(yield* refusal(exchange(client, code))).toBe("used")
      expect(yield* authenticate(first.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("with another key, with none, or after its refresh token was used is refused", () =>
    Effect.gen(function*() {
      for (const [used, presented] of [[false, key("b")], [false, {}], [true, key("a")]] as const) {
        const client = yield* makeClient()
        const code = yield* consent(client, yield* makeUser())
        const first = yield* exchange(client, code, key("a"))
        if (used) yield* refresh(client, first.refreshToken)
        expect(yield* refusal(exchange(client, code, presented))).toBe("used")
        expect(yield* authenticate(first.accessToken)).toBe("good")
      }
    }).pipe(Effect.provide(layerWith({ refreshRetryWithoutKey: Duration.minutes(1) }))))
})
