/** Scenes of a person who is erased. */
import { RegistrationId } from "@startlist/core/Registration"
import type { Delivery } from "@startlist/core/Delivery"
import { maxId } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { at, early, type Fixture, following } from "./fixture.ts"
import { claimsOf } from "./queueScenes.ts"
import type { Scene } from "./scene.ts"

/** Six fields with this text. */
export const updatesOf = (text: string) => ({
  platform_id: text,
  registration_status: text,
  document_type: text,
  document_status: text,
  reasons: [text, text],
  comment: text
})

/**
 * A person with grants to two applications and a revoked one, a registration, and one that the embedding server stores
 * itself. The events about both are pending, and one is claimed. Another user has all of this, too.
 */
export const person = (f: Fixture) =>
  Effect.gen(function*() {
    const [one, two] = [yield* f.subscribed, yield* f.subscribed]
    const [third, fourth] = [yield* f.application(), yield* f.application()]
    const [owner, other] = [yield* f.user(), yield* f.user()]
    const grants = yield* Effect.forEach([one, two], ({ app }) => f.grant(app, owner, { codes: [f.code()] }))
    const revoked = yield* f.grant(fourth, owner, { status: "revoked" })
    yield* f.grant(one.app, other)
    const updates = updatesOf(f.name("text"))
    const registration = yield* f.registration(owner, { updates })
    const kept = yield* f.registration(other, { updates })
    const own = RegistrationId.make(maxId - registration.id)
    // Their numbers depend on the scene.
    const known: ReadonlyArray<number> = [owner.id, registration.id, own, kept.id]
    const { claim, rest } = claimsOf(one.subscription, two.subscription)
    yield* f.enqueue(one.app, [registration.id, own, kept.id].map((object) => f.event(object, early, { updates })))
    const claimed = yield* claim(f, -1000)
    yield* f.enqueue(two.app, [registration.id, kept.id].map((object) => f.event(object, early, { updates })))
    const [attempted] = claimed
    if (attempted === undefined) return yield* Effect.dieMessage("a delivery is due, but none was claimed")
    /** By object: the order of events about different objects is not promised. */
    const shown = (all: ReadonlyArray<Delivery>) =>
      all.map(({ event, ...delivery }) => ({
        ...delivery,
        event: { ...event, objectId: known.indexOf(event.objectId) }
      })).sort((a, b) => a.event.objectId - b.event.objectId)
    const attempts = [
      { at: early, durationMs: 1, outcome: "rejected", status: Option.some(500), detail: "no" } as const
    ]
    const operations = {
      "an erasure": (by: Fixture, n: number) =>
        by.persons.erase({
          userId: owner.id,
          at: at(n),
          registrationIds: [own],
          revocations: grants.map((grant, place) => ({
            grant: following(grant, { status: "revoked", codes: [] }),
            outgoing: f.outgoing(
              place === 0 ? one.app : two.app,
              f.event(owner.id, early, { aspectType: "deleted", objectType: "athlete", updates: {} })
            )
          }))
        }),
      "a first grant": (by: Fixture) => Effect.asVoid(by.grant(third, owner)),
      "a consent": (by: Fixture, n: number) =>
        Effect.forEach(
          grants.slice(0, 1),
          (grant) => by.grants.save({ grant: following(grant, { generation: n }), outgoing: [] }),
          { discard: true }
        ),
      "a consent after a revocation": (by: Fixture) =>
        by.grants.save({ grant: following(revoked, { status: "active" }), outgoing: [] }),
      "an insertion of a registration": (by: Fixture) => Effect.asVoid(by.registration(owner, { updates })),
      "a save of a registration": (by: Fixture) =>
        Effect.asVoid(by.registrations.save(
          { ...registration, version: 2 },
          f.outgoing(one.app, f.event(registration.id, early, { updates }))
        )),
      "a delivery again": (by: Fixture) => Effect.map(by.deliveryQueue.again(attempted.delivery, early), Option.isSome),
      "a settlement": (by: Fixture) =>
        Effect.map(by.settle([attempted], { attempts, dueAt: early }), (ids) => ids.length)
    }
    return {
      operations,
      rest: (by: Fixture) =>
        Effect.map(rest(by), (all) => all.map(([object, claims]) => [known.indexOf(object), claims])),
      parts: (by: Fixture) => ({
        "is erased": by.persons.isErased(owner.id),
        "other is erased": by.persons.isErased(other.id),
        "first grant": by.findGrant(one.app.id, owner.id),
        "second grant": by.findGrant(two.app.id, owner.id),
        "later grant": by.findGrant(third.id, owner.id),
        "revoked grant": by.findGrant(fourth.id, owner.id),
        "grants of the user": by.grants.listByUser(owner.id),
        "number of grants of the application": Effect.map(
          by.grants.listByApplication(one.app.id, 9),
          (all) => all.length
        ),
        registrations: by.persons.registrations(owner.id),
        registration: by.registrations.find(registration.id),
        "kept registrations": by.persons.registrations(other.id),
        deliveries: Effect.map(by.listed(one.app), shown),
        "deliveries of another application": Effect.map(by.listed(two.app), shown),
        log: Effect.map(
          by.deliveries.log({ applicationId: one.app.id, after: 0, limit: 100 }),
          (all) => shown(all.map(({ delivery }) => delivery))
        )
      })
    } satisfies Scene
  })
