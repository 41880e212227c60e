import { it } from "@effect/vitest"
import {
  AccessTokens,
  Application,
  Deliveries,
  Event,
  Events,
  Grant,
  GrantStore,
  Memory,
  OAuth,
  Registration,
  Registrations,
  Services,
  Subscription,
  User
} from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { DateTime, Effect, Layer, Option, Redacted, type Tracer } from "effect"
import { expect } from "vitest"

const layer = Services.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Memory.layer, TestUsers.layer, TestSecrets.layer("events"), ScriptedCallbacks.layer)
  )
)

/** The name of the span of a request: the services have their own inside of it. */
const outermostSpan = Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
  let outermost: Tracer.AnySpan = span
  while (outermost._tag === "Span" && Option.isSome(outermost.parent)) outermost = outermost.parent.value
  return outermost._tag === "Span" ? outermost.name : ""
})

const athleteId = User.UserId.make(8)

/** An application with a subscription and a grant of the athlete. */
const connected = (id: number, status: Grant.Grant["status"]) =>
  Effect.gen(function*() {
    const grants = yield* GrantStore.GrantStore
    const subscriptions = yield* Subscription.SubscriptionStore
    const applications = yield* Application.ApplicationStore
    const now = yield* DateTime.now
    const { id: applicationId } = yield* applications.insert({
      name: `Application ${id}`,
      ownerId: User.UserId.make(1),
      redirectUris: [],
      requirePkce: false,
      secrets: [],
      createdAt: now
    }, Redacted.make("whsec"))
    yield* subscriptions.insert({
      applicationId,
      callbackUrl: `https://app${id}.test/events`,
      createdAt: now,
      updatedAt: now
    })
    const grant = Grant.Grant.make({
      applicationId,
      userId: athleteId,
      version: 1,
      status,
      role: "athlete",
      scope: ["read"],
      epoch: 1,
      applicationEpoch: 0,
      generation: 0,
      grantedAt: now,
      refresh: Option.none(),
      access: AccessTokens.none,
      codes: []
    })
    yield* grants.save({ grant, outgoing: [] })
    return applicationId
  })

it.effect("applications are notified of a registration of the server's own, under its identifier", () =>
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
      time: yield* DateTime.now,
      trace: Option.none()
    }])
  }).pipe(Effect.provide(layer)))

it.effect("every event has the trace of the request that caused it, but its body has not", () =>
  Effect.gen(function*() {
    const applicationId = yield* connected(1, "active")
    const registrations = yield* Registrations.Registrations
    const parties = {
      athleteId,
      organizerId: Option.none(),
      clubId: Option.none(),
      platformUserId: Option.none()
    }
    const updates = Registration.emptyUpdates
    const stored = yield* Effect.flatMap(
      Registration.RegistrationStore,
      (store) => store.insert({ parties, updates })
    )
    const id = Registration.RegistrationId.make(9)
    const asked = <A, E, R>(name: string, ask: Effect.Effect<A, E, R>) => Effect.withSpan(ask, name)
    yield* asked("a", registrations.change(stored.id, { comment: "changed" }))
    yield* asked("b", Effect.flatMap(Events.Events, (events) => events.registrationChanged({ id, parties, updates })))
    const { find, list, redeliver, sendTest } = yield* Deliveries.Deliveries
    const sent = yield* asked("c", sendTest(applicationId))
    yield* asked("d", redeliver(sent.id))
    yield* asked("e", Effect.flatMap(OAuth.OAuth, (oauth) => oauth.revokeByUser(applicationId, athleteId)))
    const all = yield* list({
      applicationId: Option.some(applicationId),
      state: Option.none(),
      after: Option.none(),
      limit: 10
    })
    const causes = [...all].reverse().map(({ event }) => event.trace)
    expect(causes).toEqual(["a", "b", "c", "c", "e"].map(Option.some))
    const { event } = yield* find(sent.id)
    expect(Event.body(event, 1)).toBe(Event.body({ ...event, trace: Option.none() }, 1))
  }).pipe(
    Effect.provide(layer),
    Effect.provideService(Event.CurrentTrace, Effect.asSome(outermostSpan))
  ))
