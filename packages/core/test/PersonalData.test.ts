/** Law 13: erasures, and what happens at the same time. The laws of stores are in `StoreLaws`. */
import { expect, it } from "@effect/vitest"
import {
  Deliveries,
  Grant,
  Memory,
  OAuth,
  PersonalData,
  Registration,
  Registrations,
  Subscription
} from "@startlist/core"
import { Faults } from "@startlist/testing"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import {
  authenticate,
  callbackUrl,
  consent,
  exchange,
  layer,
  layerOver,
  makeClient,
  makeUser,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

it.effect("an erasure revokes the grants, clears the registrations, and can be repeated", () =>
  Effect.gen(function*() {
    const { erase, export: exported } = yield* PersonalData.PersonalData
    const { create, find } = yield* Registrations.Registrations
    const [user, other] = [yield* makeUser(), yield* makeUser()]
    const clients = [yield* makeClient(), yield* makeClient()]
    const tokens = yield* Effect.forEach(clients, (client) => tokensOf(client, user))
    const kept = yield* Effect.forEach(clients, (client) => tokensOf(client, other))
    const none = { organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() }
    const registration = {
      parties: { athleteId: user.id, ...none },
      updates: { ...Registration.emptyUpdates, comment: "x" }
    }
    const { id } = yield* create(registration)
    const before = yield* exported(user.id)
    expect(before.grants.map(({ application }) => application.id)).toEqual(clients.map(({ id }) => id))
    expect(before.registrations.map(({ updates }) => updates.comment)).toEqual(["x"])

    expect(yield* erase(user.id)).toBe(2)
    expect(yield* exported(user.id)).toMatchObject({
      grants: [],
      registrations: [{ id, updates: Registration.emptyUpdates }]
    })
    expect((yield* find(id)).updates).toEqual(Registration.emptyUpdates)
    for (const [place, client] of clients.entries()) {
      const [mine, theirs] = [tokens[place], kept[place]]
      if (mine === undefined || theirs === undefined) throw new Error("there are two pairs of tokens")
      expect(yield* authenticate(mine.accessToken)).toBe("@startlist/core/InvalidToken")
      expect(yield* refusal(refresh(client, mine.refreshToken))).toBe("unknown")
      expect(yield* authenticate(theirs.accessToken)).toBe("good")
    }
    expect(yield* Effect.flip(create(registration))).toMatchObject({
      _tag: "@startlist/core/InvalidParty",
      field: "athlete_id"
    })
    expect(yield* erase(user.id)).toBe(0)
  }).pipe(Effect.provide(layer)))

it.effect("an erasure notifies the applications, and clears events of registrations that the server stores itself", () =>
  Effect.gen(function*() {
    const { erase } = yield* PersonalData.PersonalData
    const { notify } = yield* Registrations.Registrations
    const { insert } = yield* Subscription.SubscriptionStore
    const [user, client] = [yield* makeUser(), yield* makeClient()]
    yield* consent(client, user)
    const now = yield* DateTime.now
    yield* insert({ applicationId: client.id, callbackUrl, createdAt: now, updatedAt: now })
    const parties = {
      athleteId: user.id,
      organizerId: Option.none(),
      clubId: Option.none(),
      platformUserId: Option.none()
    }
    const [mine, other] = [Registration.RegistrationId.make(70), Registration.RegistrationId.make(71)]
    const updates = { ...Registration.emptyUpdates, comment: "x" }
    yield* Effect.forEach([mine, other], (id) => notify({ id, parties, updates }))
    yield* erase(user.id, [mine])
    const { list } = yield* Deliveries.Deliveries
    const found = yield* list({ applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 9 })
    expect(found.map(({ event, state }) => [event.objectId, event.aspectType, event.updates, state]).reverse()).toEqual(
      [
        [mine, "updated", Registration.emptyUpdates, "cancelled"],
        [other, "updated", updates, "pending"],
        [user.id, "deleted", {}, "pending"]
      ]
    )
  }).pipe(Effect.provide(layer)))

it.effect("an erased user cannot consent, neither to a new application nor to one of before", () =>
  Effect.gen(function*() {
    const { erase } = yield* PersonalData.PersonalData
    const user = yield* makeUser()
    const [known, next] = [yield* makeClient(), yield* makeClient()]
    const code = yield* consent(known, user)
    yield* erase(user.id)
    expect(yield* refusal(exchange(known, code))).toBe("unknown")
    for (const client of [known, next]) {
      expect(yield* Effect.flip(consent(client, user))).toMatchObject({
        _tag: "@startlist/core/UserErased",
        userId: user.id
      })
    }
  }).pipe(Effect.provide(layer)))

/** Stores that erase a user before each save of a grant of that user. */
const erasedMeanwhile = Layer.map(Memory.layer, (stores) => {
  const [grants, persons] = [Context.get(stores, Grant.GrantStore), Context.get(stores, PersonalData.PersonStore)]
  return Faults.intercept(stores, (operation, effect, [change]) => {
    if (operation !== "GrantStore.save") return effect
    const { grant } = change as Parameters<typeof grants.save>[0]
    const revocations = Effect.map(
      grants.listByUser(grant.userId),
      (active) =>
        active.map((one) => ({ grant: { ...one, version: one.version + 1, status: "revoked" } as const, outgoing: [] }))
    )
    const erase = Effect.flatMap(
      revocations,
      (revocations) => persons.erase({ userId: grant.userId, at: grant.grantedAt, registrationIds: [], revocations })
    )
    return Effect.zipRight(Effect.orDie(erase), effect)
  })
})

it.effect("a consent in progress during the erasure is refused, and leaves nothing", () =>
  Effect.gen(function*() {
    const [user, client] = [yield* makeUser(), yield* makeClient()]
    expect((yield* Effect.flip(consent(client, user)))._tag).toBe("@startlist/core/UserErased")
    const { authorized } = yield* OAuth.OAuth
    expect(yield* authorized(user.id)).toEqual([])
  }).pipe(Effect.provide(layerOver(erasedMeanwhile))))
