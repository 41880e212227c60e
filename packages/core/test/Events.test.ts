import { it } from "@effect/vitest"
import {
  AccessTokens,
  Deliveries,
  Events,
  Grant,
  GrantStore,
  Memory,
  Registration,
  Services,
  Subscription,
  User
} from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { DateTime, Effect, Layer, Option, Redacted } from "effect"
import { expect } from "vitest"

const layer = Services.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Memory.layer, TestUsers.layer, TestSecrets.layer("events"), ScriptedCallbacks.layer)
  )
)

const athleteId = User.UserId.make(8)

/** An application with a subscription and a grant of the athlete. */
const connected = (id: number, status: Grant.Grant["status"]) =>
  Effect.gen(function*() {
    const grants = yield* GrantStore.GrantStore
    const subscriptions = yield* Subscription.SubscriptionStore
    const applicationId = ApplicationId.make(id)
    const now = yield* DateTime.now
    yield* subscriptions.insert({
      applicationId,
      callbackUrl: `https://app${id}.test/events`,
      createdAt: now,
      updatedAt: now,
      signingSecrets: [{ value: Redacted.make("whsec_x"), expiresAt: Option.none() }]
    })
    const grant = Grant.Grant.make({
      applicationId,
      userId: athleteId,
      version: 1,
      status,
      role: "athlete",
      scope: ["read"],
      epoch: 1,
      generation: 0,
      grantedAt: now,
      refresh: Option.none(),
      access: AccessTokens.none,
      codes: []
    })
    yield* grants.save({ grant, outgoing: [] })
    return applicationId
  })

it.effect("a registration that the server keeps itself is told of under its own identifier, to whom it concerns", () =>
  Effect.gen(function*() {
    const events = yield* Events.Events
    const deliveries = yield* Deliveries.Deliveries
    const told = yield* connected(1, "active")
    yield* connected(2, "revoked")
    const parties = {
      athleteId,
      organizerId: Option.none(),
      clubId: Option.none(),
      platformUserId: Option.none()
    }
    const updates = { ...Registration.emptyUpdates, registration_status: "validated" }
    const id = yield* events.registrationChanged({
      id: Registration.RegistrationId.make(987_654_321),
      parties,
      updates
    })
    const list = yield* deliveries.list({
      applicationId: Option.none(),
      state: Option.none(),
      after: Option.none(),
      limit: 10
    })
    expect(list.map(({ applicationId, event }) => ({ applicationId, ...event }))).toEqual([{
      applicationId: told,
      id,
      aspectType: "updated",
      objectType: "registration",
      objectId: 987_654_321,
      updates,
      time: yield* DateTime.now
    }])
  }).pipe(Effect.provide(layer)))
