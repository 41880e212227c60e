/** Law 14: a suspended application gets no token, no answer and no event. Once restored, it continues. */
import { describe, expect, it } from "@effect/vitest"
import { Applications, Deliveries, OAuth, Subscriptions } from "@startlist/core"
import { Effect, Option, Redacted } from "effect"
import {
  authenticate,
  callbackUrl,
  type Client,
  consent,
  exchange,
  layer,
  makeClient,
  makeUser,
  parameters,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

const subscribe = (client: Client) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth.OAuth
    const access = yield* oauth.authenticate((yield* tokensOf(client, client.owner)).accessToken)
    const { create } = yield* Subscriptions.Subscriptions
    return yield* create(access, { callbackUrl, verifyToken: Redacted.make("verify") })
  })

const introspect = (token: Redacted.Redacted<string>) =>
  Effect.flatMap(OAuth.OAuth, (oauth) => oauth.introspect(token, Option.none()))

describe("a suspended application", () => {
  it.effect("gets no token and no answer; once restored, its tokens are valid again", () =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const oauth = yield* OAuth.OAuth
      const client = yield* makeClient()
      const [ada, bob] = [yield* makeUser(), yield* makeUser()]
      const tokens = yield* tokensOf(client, ada)
      const code = yield* consent(client, bob)
      expect((yield* applications.suspend(client.id)).state).toBe("suspended")
      const again = yield* applications.suspend(client.id)

      const suspended = { _tag: "@startlist/core/InvalidClient", reason: "suspended" }
      expect(yield* Effect.flip(refresh(client, tokens.refreshToken))).toMatchObject(suspended)
      expect(yield* Effect.flip(exchange(client, code))).toMatchObject(suspended)
      expect(yield* Effect.flip(oauth.revoke(client, tokens.accessToken))).toMatchObject(suspended)
      expect(yield* Effect.flip(applications.authenticate(client))).toMatchObject(suspended)
      const impostor = { ...client, secret: Redacted.make("wrong") }
      expect(yield* Effect.flip(applications.authenticate(impostor))).toMatchObject({ reason: "unknown" })
      expect(yield* authenticate(tokens.accessToken)).not.toBe("good")
      expect(yield* introspect(tokens.accessToken)).toEqual(Option.none())
      expect(yield* introspect(tokens.refreshToken)).toEqual(Option.none())
      expect(yield* refusal(oauth.authorize(client.id, parameters()))).toBe("suspended_client")
      expect((yield* oauth.authorized(ada.id)).map(({ application }) => application.id)).toEqual([client.id])

      const restored = yield* applications.restore(client.id)
      expect(restored.version).toBe(again.version + 1)
      expect(yield* authenticate(tokens.accessToken)).toBe("good")
      yield* refresh(client, tokens.refreshToken)
      yield* exchange(client, code)
    }).pipe(Effect.provide(layer)))

  it.effect("can be revoked by its user, and is notified once it is restored", () =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const oauth = yield* OAuth.OAuth
      const client = yield* makeClient()
      yield* subscribe(client)
      const ada = yield* makeUser()
      const tokens = yield* tokensOf(client, ada)
      yield* applications.suspend(client.id)
      yield* oauth.revokeByUser(client.id, ada.id)
      yield* applications.restore(client.id)
      expect(yield* authenticate(tokens.accessToken)).not.toBe("good")
      const deliveries = yield* Deliveries.Deliveries
      const filter = { applicationId: Option.some(client.id), state: Option.none(), after: Option.none(), limit: 10 }
      expect((yield* deliveries.list(filter)).map(({ event }) => event.objectId)).toEqual([ada.id])
    }).pipe(Effect.provide(layer)))
})

describe("to revoke all grants of an application", () => {
  it.effect("ends every token and code immediately, and those of no other application", () =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const oauth = yield* OAuth.OAuth
      const [client, other] = [yield* makeClient(), yield* makeClient()]
      const [ada, bob] = [yield* makeUser(), yield* makeUser()]
      const tokens = yield* tokensOf(client, ada)
      const kept = yield* tokensOf(other, ada)
      const code = yield* consent(client, bob)
      yield* applications.revokeAll(client.id)
      expect(yield* authenticate(tokens.accessToken)).not.toBe("good")
      expect(yield* refusal(refresh(client, tokens.refreshToken))).toBe("revoked")
      expect(yield* refusal(exchange(client, code))).toBe("unknown")
      expect(yield* introspect(tokens.refreshToken)).toEqual(Option.none())
      expect(yield* authenticate(kept.accessToken)).toBe("good")
      expect((yield* oauth.authorized(ada.id)).map(({ application }) => application.id)).toEqual([other.id])

      const next = yield* tokensOf(client, ada)
      expect(yield* authenticate(next.accessToken)).toBe("good")
      expect(yield* refusal(refresh(client, tokens.refreshToken))).toBe("revoked")
      yield* refresh(client, next.refreshToken)
    }).pipe(Effect.provide(layer)))
})

describe("an application that has ended", () => {
  it.effect("is not found: its secret, tokens, subscription and name cannot be used", () =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const oauth = yield* OAuth.OAuth
      const subscriptions = yield* Subscriptions.Subscriptions
      const client = yield* makeClient()
      yield* subscribe(client)
      const tokens = yield* tokensOf(client, yield* makeUser())
      yield* applications.suspend(client.id)
      yield* applications.end(client.id)
      expect(yield* subscriptions.findByApplication(client.id)).toEqual(Option.none())
      expect(yield* authenticate(tokens.accessToken)).not.toBe("good")
      expect(yield* Effect.flip(refresh(client, tokens.refreshToken))).toMatchObject({ reason: "unknown" })
      expect(yield* refusal(oauth.authorize(client.id, parameters()))).toBe("unknown_client")
      for (
        const use of [
          applications.find,
          applications.restore,
          applications.revokeAll,
          applications.end,
          applications.signingSecrets
        ]
      ) {
        expect(yield* Effect.flip<unknown, unknown, never>(use(client.id))).toMatchObject({
          _tag: "@startlist/core/ApplicationNotFound"
        })
      }
    }).pipe(Effect.provide(layer)))
})

describe("a subscription", () => {
  it.effect("is paused and resumed, each once and as a version of its own", () =>
    Effect.gen(function*() {
      const { findByApplication, pause, resume } = yield* Subscriptions.Subscriptions
      const client = yield* makeClient()
      const created = yield* subscribe(client)
      const steps = [
        yield* resume(client.id, "owner"),
        yield* pause(client.id, "owner"),
        yield* pause(client.id, "owner"),
        yield* resume(client.id, "owner")
      ]
      expect(steps.map(({ paused, version }) => [paused, version - created.version])).toEqual([
        [false, 0],
        [true, 1],
        [true, 1],
        [false, 2]
      ])
      expect(yield* findByApplication(client.id)).toEqual(Option.fromNullable(steps.at(-1)))
    }).pipe(Effect.provide(layer)))

  it.effect("that an operator has paused is resumed by an operator only, whatever its owner did before and after", () =>
    Effect.gen(function*() {
      const { findByApplication, pause, resume } = yield* Subscriptions.Subscriptions
      const client = yield* makeClient()
      yield* subscribe(client)
      for (const isPausedBefore of [false, true]) {
        if (isPausedBefore) yield* pause(client.id, "owner")
        yield* pause(client.id, "operator")
        yield* pause(client.id, "owner")
        expect((yield* Effect.flip(resume(client.id, "owner")))._tag).toBe("@startlist/core/PausedByOperator")
        const present = Option.getOrThrow(yield* findByApplication(client.id))
        expect([present.paused, present.pausedByOperator]).toEqual([true, true])
        const resumed = yield* resume(client.id, "operator")
        expect([resumed.paused, resumed.pausedByOperator]).toEqual([false, false])
        yield* pause(client.id, "owner")
        expect((yield* resume(client.id, "owner")).paused).toBe(false)
      }
    }).pipe(Effect.provide(layer)))
})

describe("what is pending", () => {
  it.effect("is cancelled, and the subscription stays", () =>
    Effect.gen(function*() {
      const deliveries = yield* Deliveries.Deliveries
      const client = yield* makeClient()
      const subscription = yield* subscribe(client)
      for (let count = 0; count < Deliveries.maxCancelled + 3; count++) yield* deliveries.sendTest(client.id)
      expect(yield* deliveries.cancelPending(client.id)).toBe(Deliveries.maxCancelled)
      expect(yield* deliveries.cancelPending(client.id)).toBe(3)
      expect(yield* deliveries.cancelPending(client.id)).toBe(0)
      const { findByApplication } = yield* Subscriptions.Subscriptions
      expect(yield* findByApplication(client.id)).toEqual(Option.some(subscription))
    }).pipe(Effect.provide(layer)))
})
