/** The services write what they do, and what they refuse, to one sink. */
import { expect, it } from "@effect/vitest"
import { type Audit, OAuth, PersonalData, Subscriptions, Worker } from "@startlist/core"
import { Effect, Fiber, Option, Redacted, TestClock } from "effect"
import {
  authenticate,
  callbackUrl,
  connected,
  consent,
  exchange,
  layerWith,
  makeUser,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

const wanted = { callbackUrl, verifyToken: Redacted.make("token") }

it.effect("tokens, refusals, revocations, validations and deliveries are recorded, each once", () => {
  const entries: Array<Audit.Entry> = []
  const taken = () => entries.splice(0)
  return Effect.gen(function*() {
    const { client, code, first, user } = yield* connected
    expect(taken()).toMatchObject([{ _tag: "TokensIssued", grantType: "authorization_code" }])

    const second = yield* refresh(client, first.refreshToken)
    expect(taken()).toMatchObject([{ _tag: "TokensIssued", grantType: "refresh_token" }])

    yield* refusal(exchange(client, code))
    yield* refusal(refresh({ ...client, secret: Redacted.make("wrong") }, second.refreshToken))
    yield* refusal(refresh(client, second.refreshToken, { scope: Option.some(["write"]) }))
    expect(taken()).toMatchObject([
      { _tag: "Acted", action: "replay_refused" },
      { _tag: "TokensRefused", grantType: "authorization_code", reason: "used" },
      { _tag: "TokensRefused", grantType: "refresh_token", reason: "invalid_client" },
      { _tag: "TokensRefused", grantType: "refresh_token", reason: "scope_exceeded" }
    ])

    yield* authenticate(second.accessToken)
    yield* authenticate(client.secret)
    expect(taken()).toMatchObject([{ _tag: "AccessRefused" }])

    const { subscribe } = yield* Subscriptions.Subscriptions
    yield* subscribe(client.id, wanted)
    expect(taken()).toMatchObject([{ _tag: "CallbackValidated", answer: { status: 200 } }])

    const { revoke, revokeByUser } = yield* OAuth.OAuth
    yield* revoke(client, second.refreshToken)
    yield* revoke(client, second.refreshToken)
    expect(taken()).toMatchObject([{ _tag: "GrantsRevoked", by: "application", count: 1 }])
    yield* consent(client, user)
    yield* revokeByUser(client.id, user.id)
    yield* revokeByUser(client.id, user.id)
    expect(taken()).toMatchObject([{ _tag: "GrantsRevoked", by: "user", count: 1 }])
    yield* Effect.forEach([user, yield* makeUser()], (one) => tokensOf(client, one))
    taken()
    const { erase } = yield* PersonalData.PersonalData
    yield* erase(user.id)
    yield* erase(user.id)
    expect(taken()).toMatchObject([{ _tag: "GrantsRevoked", by: "user", count: 1 }])

    const worker = yield* Effect.fork(Worker.run)
    yield* TestClock.adjust("1 minute")
    yield* Fiber.interrupt(worker)
    expect(taken()).toMatchObject([1, 2].map(() => ({ _tag: "DeliverySettled", delivery: { state: "delivered" } })))
  }).pipe(Effect.provide(layerWith({}, (entry) => void entries.push(entry))))
})
