import { it } from "@effect/vitest"
import {
  Application,
  Audit,
  Deliveries,
  Delivery,
  Event,
  Grant,
  Memory,
  OAuth,
  Registration,
  Registrations,
  Services,
  Subscription,
  User
} from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { DateTime, Effect, Layer, Option, Redacted, TestClock, type Tracer } from "effect"
import { expect } from "vitest"

const layer = Services.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Audit.none, Memory.layer, TestUsers.layer, TestSecrets.layer("events"), ScriptedCallbacks.layer)
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
    const grants = yield* Grant.GrantStore
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
      lineStart: 1,
      grantedAt: now,
      refresh: Option.none(),
      access: [],
      codes: []
    })
    yield* grants.save({ grant, outgoing: [] })
    return applicationId
  })

it.effect("applications are notified of a registration of the server's own, under its identifier", () =>
  Effect.gen(function*() {
    const { notify } = yield* Registrations.Registrations
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
    const id = yield* notify({
      id: Registration.RegistrationId.make(987_654_321),
      parties,
      sequence: 7,
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
      sequence: 7,
      updates,
      time: yield* DateTime.now,
      trace: Option.none()
    }])
  }).pipe(Effect.provide(layer)))

it.effect("the sequence of an event is the version of its record, the server's number, or else the time", () =>
  Effect.gen(function*() {
    yield* TestClock.adjust("5 seconds")
    const applicationId = yield* connected(1, "active")
    const parties = { athleteId, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() }
    const { change, notify } = yield* Registrations.Registrations
    const { revokeByUser } = yield* OAuth.OAuth
    const updates = Registration.emptyUpdates
    const { insert } = yield* Registration.RegistrationStore
    const { id } = yield* insert({ parties, updates })
    for (const comment of ["a", "a", "b"]) yield* change(id, { comment })
    const own = { id: Registration.RegistrationId.make(9), parties, updates }
    for (const sequence of [0, 12, undefined]) yield* notify({ ...own, sequence })
    yield* revokeByUser(applicationId, athleteId)
    const { list } = yield* Delivery.DeliveryStore
    const page = { applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 10 }
    const found = [...yield* list(page)].reverse().map(({ event }) => [event.objectId, event.sequence])
    expect(found).toEqual([[id, 2], [id, 3], [9, 0], [9, 12], [9, 5000], [athleteId, 2]])
    const refused = yield* Effect.exit(notify({ ...own, sequence: 1.5 }))
    expect(refused._tag).toBe("Failure")
    expect(yield* list(page)).toHaveLength(6)
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
    yield* asked("b", registrations.notify({ id, parties, updates }))
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
