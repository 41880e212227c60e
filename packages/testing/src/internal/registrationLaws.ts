/** Laws of the registration store. */
import { Audience } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Stores"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { count, race, same, tagOf } from "./expecting.ts"
import { at, make, start } from "./fixture.ts"

export const registrationLaws: LawGroup<Stores> = {
  about: "registrations",
  laws: [
    law(
      "a registration is found as it was inserted, at version 1, and as it was last saved",
      () =>
        Effect.gen(function*() {
          const { registrations, user } = yield* make
          const id = Effect.map(user(), (one) => one.id)
          const [athleteId, organizerId, clubId, platformUserId] = yield* Effect.all([id, id, id, id])
          const parties = [
            { athleteId, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() },
            {
              athleteId,
              organizerId: Option.some(organizerId),
              clubId: Option.some(clubId),
              platformUserId: Option.some(platformUserId)
            }
          ]
          const given = FastCheck.constantFrom(...parties).chain(Arbitraries.newRegistration)
          yield* forAll(FastCheck.tuple(given, given), ([registration, changed]) =>
            Effect.gen(function*() {
              const inserted = yield* registrations.insert(registration)
              same(inserted, { ...registration, id: inserted.id, version: 1 })
              same(yield* registrations.find(inserted.id), inserted)
              const next = { ...inserted, ...changed, version: 2 }
              yield* registrations.save(next, [])
              same(yield* registrations.find(inserted.id), next)
            }), { numRuns: 25 })
        })
    ),
    law(
      "a save is accepted over the version before it and no other; a refused one changes and queues nothing",
      () =>
        Effect.gen(function*() {
          const { event, listed, registration, registrations, subscribed, user } = yield* make
          const { app } = yield* subscribed
          const first = yield* registration(yield* user())
          const audience = Audience.Application({ applicationId: app.id })
          const save = (version: number) => {
            const updates = { ...first.updates, comment: `version ${version}` }
            return registrations.save({ ...first, version, updates }, [{
              event: event(first.id, at(version)),
              audience
            }])
          }
          yield* save(2)
          same(yield* tagOf(save(2)), "Conflict", "a stale version")
          same(yield* tagOf(save(1)), "Conflict", "an older version")
          same(yield* tagOf(save(4)), "Conflict", "a skipped version")
          const kept = yield* registrations.find(first.id)
          same(Option.map(kept, ({ updates }) => updates.comment), Option.some("version 2"))
          same((yield* listed(app)).map(({ dueAt }) => dueAt), [at(2)])
        })
    ),
    law("a registration that was never inserted cannot be saved, and queues nothing", () =>
      Effect.gen(function*() {
        const { event, listed, registration, registrations, subscribed, user } = yield* make
        const { app } = yield* subscribed
        const first = yield* registration(yield* user())
        const id = RegistrationId.make(maxId)
        for (const version of [1, 2]) {
          const save = registrations.save({ ...first, id, version }, [{
            event: event(id),
            audience: Audience.Application({ applicationId: app.id })
          }])
          same(yield* tagOf(save), "Conflict")
        }
        same(yield* registrations.find(id), Option.none())
        same(yield* listed(app), [])
      })),
    law(
      "of parallel saves of one version exactly one succeeds, and only its events are queued",
      () =>
        Effect.gen(function*() {
          const { event, listed, registration, registrations, subscribed, user } = yield* make
          const { app } = yield* subscribed
          const first = yield* registration(yield* user())
          const results = yield* race(Array.from({ length: 8 }, (_, index) =>
            registrations.save({ ...first, version: 2 }, [{
              event: event(first.id, at(index)),
              audience: Audience.Application({ applicationId: app.id })
            }])))
          same(count(results, "success"), 1)
          same(count(results, "Conflict"), 7)
          same(
            (yield* listed(app)).map(({ dueAt }) =>
              dueAt
            ),
            [at(results.indexOf("success"))]
          )
        })
    ),
    law("parallel saves of different registrations do not disturb each other", () =>
      Effect.gen(function*() {
        const { event, listed, registration, registrations, subscribed, user } = yield* make
        const { app } = yield* subscribed
        const athlete = yield* user()
        const many = yield* Effect.all(Array.from({ length: 20 }, () => registration(athlete)))
        const results = yield* race(many.map((one) =>
          registrations.save({ ...one, version: 2 }, [{
            event: event(one.id, start),
            audience: Audience.Application({ applicationId: app.id })
          }])
        ))
        same(count(results, "success"), 20)
        const queued = (yield* listed(app)).map(({ event }) => event.objectId)
        same(queued.sort((a, b) => a - b), many.map(({ id }) => Number(id)).sort((a, b) => a - b))
      })),
    law("an unknown registration is not found", () =>
      Effect.gen(function*() {
        const { registrations } = yield* make
        same(yield* registrations.find(RegistrationId.make(maxId)), Option.none())
      }))
  ]
}
