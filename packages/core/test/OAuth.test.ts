import { describe, expect, it } from "@effect/vitest"
import { Deliveries, Event, Grant, Memory, OAuth, Subscriptions, type Token } from "@startlist/core"
import { Effect, Layer, Option, Redacted, TestClock } from "effect"
import {
  authenticate,
  callbackUrl,
  type Client,
  consent,
  exchange,
  layer,
  layerOver,
  makeClient,
  makeUser,
  redirectUri,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

const subscribe = (client: Client) =>
  Effect.gen(function*() {
    const subscriptions = yield* Subscriptions.Subscriptions
    const oauth = yield* OAuth.OAuth
    const access = yield* oauth.authenticate((yield* tokensOf(client, client.owner)).accessToken)
    return yield* subscriptions.create(access, { callbackUrl, verifyToken: Redacted.make("verify") })
  })

const deliveriesOf = (client: Client) =>
  Effect.flatMap(Deliveries.Deliveries, (deliveries) =>
    deliveries.list({
      applicationId: Option.some(client.id),
      state: Option.none(),
      after: Option.none(),
      limit: 100
    }))

describe("a code", () => {
  it.effect("gives tokens, the granted scope and the state of the authorization request", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser(), { state: Option.some("opaque") })
      const tokens = yield* exchange(client, code)
      expect(tokens.scope).toStrictEqual(["profile:read"])
      expect(tokens.state).toStrictEqual(Option.some("opaque"))
      expect(tokens.expiresAt.epochMillis - tokens.createdAt.epochMillis).toBe(28_800_000)
      expect(yield* authenticate(tokens.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("is valid for exactly five minutes", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const [ada, bob] = [yield* makeUser(), yield* makeUser()]
      const [first, second] = [yield* consent(client, ada), yield* consent(client, bob)]
      yield* TestClock.adjust("299999 millis")
      yield* exchange(client, first)
      yield* TestClock.adjust("1 millis")
      expect(yield* refusal(exchange(client, second))).toBe("unknown")
    }).pipe(Effect.provide(layer)))

  it.effect("is refused to another application, which revokes nothing, used or not", () =>
    Effect.gen(function*() {
      const [client, thief] = [yield* makeClient(), yield* makeClient()]
      const code = yield* consent(client, yield* makeUser())
      expect(yield* refusal(exchange(thief, code))).toBe("mismatch")
      const tokens = yield* exchange(client, code)
      expect(yield* refusal(exchange(thief, code))).toBe("mismatch")
      expect(yield* authenticate(tokens.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("is refused with another redirect_uri than the authorized one, and accepted with it or without", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const [ada, bob] = [yield* makeUser(), yield* makeUser()]
      const [first, second] = [yield* consent(client, ada), yield* consent(client, bob)]
      const other = exchange(client, first, { redirectUri: Option.some(`${redirectUri}/`) })
      expect(yield* refusal(other)).toBe("mismatch")
      yield* exchange(client, first, { redirectUri: Option.some(redirectUri) })
      yield* exchange(client, second)
    }).pipe(Effect.provide(layer)))

  it.effect("is refused when it never existed, and when its grant was revoked before the exchange", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const user = yield* makeUser()
      expect(yield* refusal(exchange(client, Redacted.make("never made")))).toBe("unknown")
      const code = yield* consent(client, user)
      yield* Effect.flatMap(OAuth.OAuth, (oauth) => oauth.revokeByUser(client.id, user.id))
      expect(yield* refusal(exchange(client, code))).toBe("unknown")
    }).pipe(Effect.provide(layer)))

  it.effect("succeeds for exactly one of many parallel exchanges", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser())
      const results = yield* Effect.all(Array.from({ length: 10 }, () => Effect.either(exchange(client, code))), {
        concurrency: "unbounded"
      })
      expect(results.filter(({ _tag }) => _tag === "Right")).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("is refused to a client with a wrong secret, and stays valid", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser())
      const impostor = { id: client.id, secret: Redacted.make("wrong") }
      expect(yield* Effect.flip(exchange(impostor, code))).toMatchObject({ _tag: "@startlist/core/InvalidClient" })
      yield* exchange(client, code)
    }).pipe(Effect.provide(layer)))
})

describe("a refresh token", () => {
  it.effect("gives a new pair, and is replaced immediately", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const first = yield* tokensOf(client, yield* makeUser())
      const second = yield* refresh(client, first.refreshToken)
      expect(yield* authenticate(second.accessToken)).toBe("good")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("replaced")
      yield* refresh(client, second.refreshToken)
    }).pipe(Effect.provide(layer)))

  it.effect("leaves older access tokens valid until they expire after 8 hours", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const first = yield* tokensOf(client, yield* makeUser())
      yield* TestClock.adjust("4 hours")
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("14399999 millis")
      expect(yield* authenticate(first.accessToken)).toBe("good")
      yield* TestClock.adjust("1 millis")
      expect(yield* authenticate(first.accessToken)).toBe("@startlist/core/InvalidToken")
      expect(yield* authenticate(second.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("expires after 90 idle days; each refresh starts them again", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const first = yield* tokensOf(client, yield* makeUser())
      yield* TestClock.adjust("7775999999 millis")
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("89 days")
      const third = yield* refresh(client, second.refreshToken)
      yield* TestClock.adjust("90 days")
      expect(yield* refusal(refresh(client, third.refreshToken))).toBe("expired")
    }).pipe(Effect.provide(layer)))

  it.effect("of another application is refused without any effect", () =>
    Effect.gen(function*() {
      const [client, thief] = [yield* makeClient(), yield* makeClient()]
      const first = yield* tokensOf(client, yield* makeUser())
      const second = yield* refresh(client, first.refreshToken)
      yield* TestClock.adjust("1 hour")
      expect(yield* refusal(refresh(thief, first.refreshToken))).toBe("mismatch")
      expect(yield* refusal(refresh(thief, second.refreshToken))).toBe("mismatch")
      expect(yield* refusal(refresh(client, Redacted.make("never made")))).toBe("unknown")
      expect(yield* refusal(refresh(client, second.accessToken))).toBe("unknown")
      expect(yield* authenticate(second.accessToken)).toBe("good")
      yield* refresh(client, second.refreshToken)
    }).pipe(Effect.provide(layer)))

  it.effect("succeeds for exactly one of many parallel refreshes, and the grant stays", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const { refreshToken } = yield* tokensOf(client, yield* makeUser())
      const attempts = Array.from({ length: 20 }, () => Effect.either(refresh(client, refreshToken)))
      const results = yield* Effect.all(attempts, { concurrency: "unbounded" })
      const winners = results.flatMap((result) => result._tag === "Right" ? [result.right] : [])
      expect(winners).toHaveLength(1)
      for (const winner of winners) yield* refresh(client, winner.refreshToken)
    }).pipe(Effect.provide(layer)))

  it.effect("stays valid after another consent until its code is exchanged", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const user = yield* makeUser()
      const first = yield* tokensOf(client, user)
      yield* consent(client, user)
      yield* refresh(client, first.refreshToken)
    }).pipe(Effect.provide(layer)))

  it.effect("ends at the next consent if the user has another role, which the new tokens have", () =>
    Effect.gen(function*() {
      const oauth = yield* OAuth.OAuth
      const client = yield* makeClient()
      const user = yield* makeUser("platform")
      const [pending, first] = [yield* consent(client, user), yield* tokensOf(client, user)]
      const second = yield* tokensOf(client, { ...user, role: "athlete" })
      expect((yield* oauth.authenticate(second.accessToken)).role).toBe("athlete")
      expect(yield* authenticate(first.accessToken)).toBe("@startlist/core/InvalidToken")
      expect(yield* refusal(refresh(client, first.refreshToken))).toBe("revoked")
      expect(yield* refusal(exchange(client, pending))).toBe("unknown")
      expect(yield* authenticate((yield* refresh(client, second.refreshToken)).accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))
})

describe("a revocation by the application", () => {
  it.effect("ends all its tokens for that user, by the access token or the refresh token", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const client = yield* makeClient()
      for (const kind of ["accessToken", "refreshToken"] as const) {
        const user = yield* makeUser()
        const first = yield* tokensOf(client, user)
        const second = yield* refresh(client, first.refreshToken)
        yield* revoke(client, second[kind])
        for (const token of [first.accessToken, second.accessToken]) {
          expect(yield* authenticate(token)).toBe("@startlist/core/InvalidToken")
        }
        expect(yield* refusal(refresh(client, second.refreshToken))).toBe("revoked")
      }
    }).pipe(Effect.provide(layer)))

  it.effect("works by an expired or replaced token of the present life too", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const client = yield* makeClient()
      const first = yield* tokensOf(client, yield* makeUser())
      const second = yield* refresh(client, first.refreshToken)
      yield* revoke(client, first.refreshToken)
      expect(yield* authenticate(second.accessToken)).toBe("@startlist/core/InvalidToken")
    }).pipe(Effect.provide(layer)))

  it.effect("leaves other users and other applications alone", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const [client, other] = [yield* makeClient(), yield* makeClient()]
      const [ada, bob] = [yield* makeUser(), yield* makeUser()]
      const mine = yield* tokensOf(client, ada)
      const others = [yield* tokensOf(client, bob), yield* tokensOf(other, ada)]
      yield* revoke(client, mine.accessToken)
      for (const { accessToken } of others) expect(yield* authenticate(accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("by someone else's token, an unknown one or one of an earlier life does nothing", () =>
    Effect.gen(function*() {
      const { revoke, revokeByUser } = yield* OAuth.OAuth
      const [client, other] = [yield* makeClient(), yield* makeClient()]
      const user = yield* makeUser()
      const old = yield* tokensOf(client, user)
      yield* revokeByUser(client.id, user.id)
      const present = yield* tokensOf(client, user)
      yield* revoke(other, present.accessToken)
      yield* revoke(client, Redacted.make("never made"))
      yield* revoke(client, old.accessToken)
      yield* revoke(client, old.refreshToken)
      expect(yield* authenticate(present.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("is saved, whatever was saved since it was decided, by the user and by the application", () => {
    let before: Effect.Effect<unknown> = Effect.void
    const contested = Layer.effect(
      Grant.GrantStore,
      Effect.map(Grant.GrantStore, (grants) => ({
        ...grants,
        save: (change: Grant.Change) =>
          Effect.suspend(() => {
            const first = before
            before = Effect.void
            return Effect.zipRight(first, grants.save(change))
          })
      }))
    )
    return Effect.gen(function*() {
      const { revoke, revokeByUser } = yield* OAuth.OAuth
      const services = yield* Effect.context<OAuth.OAuth>()
      const client = yield* makeClient()
      const user = yield* makeUser()
      for (const byUser of [true, false]) {
        const { accessToken, refreshToken } = yield* tokensOf(client, user)
        const refreshed: Array<Token.TokenAnswer> = []
        before = refresh(client, refreshToken).pipe(
          Effect.map((tokens) => refreshed.push(tokens)),
          Effect.provide(services),
          Effect.orDie
        )
        yield* byUser ? revokeByUser(client.id, user.id) : revoke(client, accessToken)
        expect(refreshed.length).toBe(1)
        for (const token of [accessToken, ...refreshed.map((tokens) => tokens.accessToken)]) {
          expect(yield* authenticate(token)).not.toBe("good")
        }
      }
    }).pipe(Effect.provide(layerOver(Layer.provideMerge(contested, Memory.layer))))
  })

  it.effect("is refused to wrong credentials", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const client = yield* makeClient()
      const { accessToken } = yield* tokensOf(client, yield* makeUser())
      const impostor = { id: client.id, secret: Redacted.make("wrong") }
      expect(yield* Effect.flip(revoke(impostor, accessToken))).toMatchObject({ _tag: "@startlist/core/InvalidClient" })
      expect(yield* authenticate(accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("causes no event, because the application made it", () =>
    Effect.gen(function*() {
      const { revoke } = yield* OAuth.OAuth
      const client = yield* makeClient()
      yield* subscribe(client)
      yield* revoke(client, (yield* tokensOf(client, yield* makeUser("athlete"))).accessToken)
      expect(yield* deliveriesOf(client)).toHaveLength(0)
    }).pipe(Effect.provide(layer)))
})

describe("a revocation by the user", () => {
  it.effect("ends all tokens of the application for that user; those of an earlier epoch stay invalid", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      const client = yield* makeClient()
      const user = yield* makeUser()
      const old = yield* tokensOf(client, user)
      yield* revokeByUser(client.id, user.id)
      expect(yield* authenticate(old.accessToken)).toBe("@startlist/core/InvalidToken")
      const present = yield* tokensOf(client, user)
      expect(yield* authenticate(old.accessToken)).toBe("@startlist/core/InvalidToken")
      expect(yield* refusal(refresh(client, old.refreshToken))).toBe("revoked")
      expect(yield* authenticate(present.accessToken)).toBe("good")
    }).pipe(Effect.provide(layer)))

  it.effect("notifies the application: aspect_type deleted, the user as object, updates {}, its second", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      for (const role of ["athlete", "organizer"] as const) {
        const client = yield* makeClient()
        const subscription = yield* subscribe(client)
        const user = yield* makeUser(role)
        yield* tokensOf(client, user)
        yield* TestClock.adjust("1999 millis")
        const now = yield* TestClock.currentTimeMillis
        yield* revokeByUser(client.id, user.id)
        const [delivery] = yield* deliveriesOf(client)
        expect(delivery?.state).toBe("pending")
        expect(delivery && JSON.parse(Event.body(delivery.event, delivery.subscriptionId))).toStrictEqual({
          aspect_type: "deleted",
          object_type: role,
          object_id: user.id,
          updates: {},
          subscription_id: subscription.id,
          event_time: Math.floor(now / 1000)
        })
      }
    }).pipe(Effect.provide(layer)))

  it.effect("causes no event for a club or a platform user", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      const client = yield* makeClient()
      yield* subscribe(client)
      for (const role of ["club", "platform"] as const) {
        const user = yield* makeUser(role)
        yield* tokensOf(client, user)
        yield* revokeByUser(client.id, user.id)
      }
      expect(yield* deliveriesOf(client)).toHaveLength(0)
    }).pipe(Effect.provide(layer)))

  it.effect("done twice notifies once", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      const client = yield* makeClient()
      yield* subscribe(client)
      const user = yield* makeUser()
      yield* tokensOf(client, user)
      const again = revokeByUser(client.id, user.id)
      yield* Effect.all([again, again, again], { concurrency: "unbounded" })
      expect(yield* deliveriesOf(client)).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("notifies only the revoked application", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      const [client, other] = [yield* makeClient(), yield* makeClient()]
      yield* subscribe(client)
      yield* subscribe(other)
      const user = yield* makeUser()
      yield* tokensOf(client, user)
      yield* tokensOf(other, user)
      yield* revokeByUser(client.id, user.id)
      expect(yield* deliveriesOf(client)).toHaveLength(1)
      expect(yield* deliveriesOf(other)).toHaveLength(0)
    }).pipe(Effect.provide(layer)))

  it.effect("without a grant is an error", () =>
    Effect.gen(function*() {
      const { revokeByUser } = yield* OAuth.OAuth
      const { id } = yield* makeClient()
      const error = yield* Effect.flip(revokeByUser(id, (yield* makeUser()).id))
      expect(error).toMatchObject({ _tag: "@startlist/core/GrantNotFound" })
    }).pipe(Effect.provide(layer)))

  it.effect("takes the application off the user's list, which is oldest first", () =>
    Effect.gen(function*() {
      const { authorized, revokeByUser } = yield* OAuth.OAuth
      const user = yield* makeUser()
      const clients = [yield* makeClient(), yield* makeClient(), yield* makeClient()]
      for (const client of [...clients].reverse()) {
        yield* consent(client, user)
        yield* TestClock.adjust("1 second")
      }
      const listed = Effect.map(authorized(user.id), (lines) => lines.map(({ application }) => application.id))
      const [first, second, third] = clients.map(({ id }) => id)
      expect(yield* listed).toStrictEqual([third, second, first])
      if (second !== undefined) yield* revokeByUser(second, user.id)
      expect(yield* listed).toStrictEqual([third, first])
    }).pipe(Effect.provide(layer)))
})

describe("introspection", () => {
  it.effect("describes an application's own live tokens, and all tokens to the operator", () =>
    Effect.gen(function*() {
      const { introspect } = yield* OAuth.OAuth
      const [client, other] = [yield* makeClient(), yield* makeClient()]
      const user = yield* makeUser()
      const { accessToken, refreshToken } = yield* tokensOf(client, user)
      for (const [token, kind] of [[accessToken, "access"], [refreshToken, "refresh"]] as const) {
        const seen = Option.getOrThrow(yield* introspect(token, Option.some(client.id)))
        expect(seen).toMatchObject({ kind, applicationId: client.id, userId: user.id, scope: ["profile:read"] })
        expect(Option.isNone(yield* introspect(token, Option.some(other.id)))).toBe(true)
        expect(Option.isSome(yield* introspect(token, Option.none()))).toBe(true)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("describes no expired, replaced, revoked or unknown token", () =>
    Effect.gen(function*() {
      const { introspect, revoke } = yield* OAuth.OAuth
      const client = yield* makeClient()
      const isKnown = (token: Redacted.Redacted<string>) => Effect.map(introspect(token, Option.none()), Option.isSome)
      const first = yield* tokensOf(client, yield* makeUser())
      const second = yield* refresh(client, first.refreshToken)
      expect(yield* isKnown(first.refreshToken)).toBe(false)
      expect(yield* isKnown(Redacted.make("never made"))).toBe(false)
      yield* TestClock.adjust("8 hours")
      expect(yield* isKnown(second.accessToken)).toBe(false)
      expect(yield* isKnown(second.refreshToken)).toBe(true)
      yield* revoke(client, second.refreshToken)
      expect(yield* isKnown(second.refreshToken)).toBe(false)
    }).pipe(Effect.provide(layer)))
})
