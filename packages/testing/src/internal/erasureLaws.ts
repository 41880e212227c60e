/** Laws of erasures (law 13): no find returns a text of the person, and nothing else is lost. */
import type { Application } from "@startlist/core/Application"
import { type Delivery, State } from "@startlist/core/Delivery"
import { emptyUpdates, RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { LawGroup } from "../Suite.ts"
import { plain, same, tagOf } from "./expecting.ts"
import { at, type Fixture, following, only } from "./fixture.ts"
import { updatesOf } from "./deliveryScenes.ts"
import { queueLaw, storeLaw } from "./storeLaw.ts"

/** The deliveries of an application, by each find that returns some. */
const findsOf = (f: Fixture, { id }: Application) => {
  const list = (state: Option.Option<State>) =>
    f.deliveries.list({ applicationId: Option.some(id), state, after: Option.none(), limit: 1000 })
  return Effect.all({
    log: f.deliveries.log({ applicationId: id, after: 0, limit: 1000 }),
    list: list(Option.none()),
    ...Object.fromEntries(State.literals.map((state) => [`list of ${state}`, list(Option.some(state))])),
    find: Effect.flatMap(list(Option.none()), Effect.forEach((one) => f.deliveries.find(one.id))),
    repeats: Effect.map(Effect.flatMap(list(Option.none()), f.deliveries.repeats), (found) => [...found.values()])
  })
}

/** A delivery after an erasure at second 7. */
const cleared = (delivery: Delivery): Delivery => ({
  ...delivery,
  event: { ...delivery.event, updates: emptyUpdates },
  attempts: [],
  ...delivery.state === "pending" ? { state: "cancelled", endedAt: Option.some(at(7)) } as const : {}
})

/** The revocation of a first grant. */
const revocation = (f: Fixture, app: Application, owner: Parameters<Fixture["newGrant"]>[1]) =>
  only(following(f.newGrant(app, owner), { status: "revoked" }))

export const erasureLaws: LawGroup<Stores> = {
  about: "erasure",
  laws: [
    queueLaw("no find returns a text of an erased person, and everything else is as it was", function*(f) {
      const { app } = yield* f.subscribed
      const [owner, other] = [yield* f.user(), yield* f.user()]
      const text = f.name("Quetzalcoatlus")
      const registrations = [
        yield* f.registration(owner, { updates: updatesOf(text) }),
        yield* f.registration(owner, { updates: updatesOf(text) })
      ]
      const kept = yield* f.registration(other, { organizerId: owner.id, updates: updatesOf("somebody else's") })
      // Registrations that the embedding server stores itself. Their numbers are large.
      const own = [1, 2].map((n) => RegistrationId.make(maxId - 2 * kept.id - n))
      const about: ReadonlyArray<number> = [...registrations.map(({ id }) => id), ...own]
      const isAbout = ({ event }: Delivery) => about.includes(event.objectId)
      const grant = yield* f.grant(app, other)
      yield* f.grant(app, owner, { codes: [f.code({ state: Option.some(text) })] })
      const tell = (seconds: number) =>
        f.enqueue(app, [
          ...about.map((id) => f.event(id, at(seconds), { updates: updatesOf(text) })),
          f.event(kept.id, at(seconds), { updates: kept.updates })
        ])
      /** Settles what is due. A receiver repeats what it was sent. */
      const attempted = (state: State) =>
        Effect.flatMap(f.claim(), (claimed) =>
          Effect.forEach(claimed, (one) => {
            const detail = isAbout(one.delivery) ? text : "somebody else's"
            const attempt = { at: at(0), durationMs: 1, outcome: "rejected", status: Option.some(500), detail } as const
            const end = state === "pending" ? { dueAt: at(2) } : { endedAt: Option.some(at(1)) }
            return f.settle([one], { state, attempts: [attempt], ...end })
          }))
      for (const state of State.literals.filter((state) => state !== "pending")) {
        yield* tell(0)
        yield* attempted(state)
      }
      for (const one of (yield* f.listed(app)).slice(0, about.length)) yield* f.deliveryQueue.again(one, at(0))
      yield* attempted("pending")
      yield* tell(3)
      const held = yield* f.claimAt(3)
      const before = yield* f.listed(app)
      yield* findsOf(f, app)

      const revocations = [revocation(f, app, owner)]
      yield* f.persons.erase({ userId: owner.id, at: at(7), registrationIds: own, revocations })

      same(yield* f.listed(app), before.map((one) => isAbout(one) ? cleared(one) : one), "the deliveries")
      const empty = registrations.map((one) => ({ ...one, version: 2, updates: emptyUpdates }))
      same(yield* f.persons.registrations(owner.id), empty, "the registrations of the person")
      same(yield* Effect.forEach(registrations, ({ id }) => f.registrations.find(id)), empty.map(Option.some))
      same(yield* f.persons.registrations(other.id), [kept], "the registrations of somebody else")
      same(yield* f.findGrant(app.id, owner.id), Option.none(), "the grant of the person")
      same(yield* f.grants.listByApplication(app.id, 9), [grant], "the grants of the application")
      const lost = yield* f.settle(held.filter(({ delivery }) => isAbout(delivery)), { state: "pending" })
      same(lost, [], "settlements under claims of before")
      const later = yield* f.claimAt(900)
      same(later.filter(({ delivery }) => isAbout(delivery)), [], "what is claimed later")
      const shown = Object.entries(yield* findsOf(f, app)).filter(([, one]) =>
        JSON.stringify(plain(one)).includes(text)
      )
      same(shown.map(([name]) => name), [], "finds that return a text of the person")
      yield* f.cleanUp
    }),
    queueLaw("an erasure queues the events of its revocations, for subscriptions of then", function*(f) {
      const [one, two, silent] = [yield* f.subscribed, yield* f.subscribed, yield* f.application()]
      const owner = yield* f.user()
      const apps = [one.app, silent, two.app]
      const events = apps.map(() => f.event(owner.id, at(0), { objectType: "athlete", updates: {} }))
      for (const app of apps) yield* f.grant(app, owner)
      const revocations = apps.map((app, place) => ({
        ...revocation(f, app, owner),
        outgoing: f.outgoing(app, ...events.slice(place, place + 1))
      }))
      yield* f.persons.erase({ userId: owner.id, at: at(7), registrationIds: [], revocations })
      const claimed = yield* f.claim()
      const told = events.filter((_, place) => place !== 1)
      same(new Set(claimed.map(({ delivery }) => delivery.event.id)), new Set(told.map(({ id }) => id)))
      yield* f.cleanUp
    }),
    storeLaw("an erased user gets no grant and no registration, whatever the user had before", function*(f) {
      const [owner, other] = [yield* f.user(), yield* f.user()]
      const [active, revoked, earlier, none] = yield* Effect.all([
        f.application(),
        f.application(),
        f.application(),
        f.application()
      ])
      yield* f.grant(active, owner)
      yield* f.grant(revoked, owner, { status: "revoked" })
      yield* f.grant(earlier, owner)
      yield* f.applications.save({ ...earlier, epoch: earlier.epoch + 1, version: 2 })
      same(yield* f.persons.isErased(owner.id), false)
      const registrationIds: ReadonlyArray<RegistrationId> = []
      const erasure = { userId: owner.id, at: at(7), registrationIds }
      yield* f.persons.erase({ ...erasure, revocations: [revocation(f, active, owner)] })
      same([yield* f.persons.isErased(owner.id), yield* f.persons.isErased(other.id)], [true, false])
      for (const app of [active, revoked, earlier, none]) {
        same(yield* f.findGrant(app.id, owner.id), Option.none())
        for (const version of [1, 2, 3]) {
          same(
            yield* tagOf(f.grants.save(only(f.newGrant(app, owner, { version })))),
            "@startlist/core/Conflict",
            `version ${version}`
          )
        }
      }
      same(yield* tagOf(f.registration(owner)), "@startlist/core/Conflict", "a registration")
      same(yield* f.grants.listByUser(owner.id), [])
      same(yield* f.persons.registrations(owner.id), [])
      const grant = yield* f.grant(active, other)
      same(yield* f.grants.listByUser(other.id), [grant])
      yield* f.persons.erase({ ...erasure, revocations: [] })
      same(yield* f.persons.isErased(owner.id), true)
    }),
    storeLaw("an owner is not erased before the application ends, and owns none later", function*(f) {
      const [owner, other] = [yield* f.user("platform"), yield* f.application()]
      const app = yield* f.application(owner)
      const erase = f.persons.erase({ userId: owner.id, at: at(7), registrationIds: [], revocations: [] })
      same(yield* tagOf(erase), "@startlist/core/Conflict")
      same(yield* f.persons.isErased(owner.id), false)
      const ended = { ...app, state: "ended", secrets: [], redirectUris: [], version: 2 } as const
      yield* f.applications.save(ended)
      yield* erase
      same(yield* tagOf(f.application(owner)), "@startlist/core/UserErased", "a new application")
      same(
        yield* tagOf(f.applications.save({ ...other, ownerId: owner.id, version: 2 })),
        "@startlist/core/Conflict",
        "a new owner"
      )
      same(yield* f.applications.find(other.id), Option.some(other))
      yield* f.applications.save({ ...ended, version: 3 })
    }),
    queueLaw("an erasure without the next versions of all active grants changes nothing", function*(f) {
      const [{ app: one }, { app: two }] = [yield* f.subscribed, yield* f.subscribed]
      const owner = yield* f.user()
      const grants = [yield* f.grant(one, owner), yield* f.grant(two, owner)]
      const registration = yield* f.registration(owner, { updates: updatesOf("text") })
      yield* f.enqueue(one, [f.event(registration.id, at(0), { updates: registration.updates })])
      const before = yield* f.listed(one)
      const told = (app: Application, version: number) => ({
        grant: f.newGrant(app, owner, { status: "revoked", version }),
        outgoing: f.outgoing(app, f.event(owner.id))
      })
      const other = yield* f.application()
      const wrong = [
        [],
        [told(one, 2)],
        [told(one, 2), told(two, 3)],
        [told(one, 1), told(two, 2)],
        [told(one, 2), told(other, 2)],
        [told(one, 2), told(two, 2), told(other, 2)]
      ]
      for (const revocations of wrong) {
        const erasure = { userId: owner.id, at: at(7), registrationIds: [], revocations }
        same(yield* tagOf(f.persons.erase(erasure)), "@startlist/core/Conflict")
      }
      same(yield* f.persons.isErased(owner.id), false)
      same(yield* f.grants.listByUser(owner.id), grants)
      same(yield* f.registrations.find(registration.id), Option.some(registration))
      same(yield* f.listed(one), before)
      yield* f.cleanUp
    })
  ]
}
