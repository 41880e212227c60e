/** Laws of the store of applications. */
import { ApplicationId } from "@startlist/core/Application"
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { count, race, same, tagOf } from "./expecting.ts"
import { make } from "./fixture.ts"

const applications: LawGroup<Stores> = {
  about: "applications",
  laws: [
    law(
      "an application is found as it was inserted, at version 1, and as it was last saved",
      () =>
        Effect.gen(function*() {
          const { applications, user } = yield* make
          const { id: ownerId } = yield* user("platform")
          const { id: nextOwner } = yield* user("platform")
          const given = FastCheck.tuple(Arbitraries.settings, Arbitraries.clientSecrets, Arbitraries.instant)
          yield* forAll(FastCheck.tuple(given, given), ([[settings, secrets, createdAt], [changed, rotated]]) =>
            Effect.gen(function*() {
              const inserted = yield* applications.insert({ ...settings, ownerId, secrets, createdAt })
              same(inserted, { ...settings, ownerId, secrets, createdAt, id: inserted.id, version: 1 })
              same(yield* applications.find(inserted.id), inserted)
              const next = { ...inserted, ...changed, ownerId: nextOwner, secrets: rotated, version: 2 }
              yield* applications.save(next)
              same(yield* applications.find(inserted.id), next)
            }), { numRuns: 25 })
        })
    ),
    law(
      "a save is accepted over the version before it and no other, and a refused one changes nothing",
      () =>
        Effect.gen(function*() {
          const { application, applications } = yield* make
          const first = yield* application()
          const at = (version: number, name: string) => applications.save({ ...first, version, name })
          yield* at(2, "second")
          same(yield* tagOf(at(2, "stale")), "Conflict", "a stale version")
          same(yield* tagOf(at(1, "older")), "Conflict", "an older version")
          same(yield* tagOf(at(4, "skipped")), "Conflict", "a skipped version")
          same(yield* applications.find(first.id), { ...first, version: 2, name: "second" })
        })
    ),
    law("an application that was never inserted cannot be saved", () =>
      Effect.gen(function*() {
        const { application, applications } = yield* make
        const first = yield* application()
        const id = ApplicationId.make(maxId)
        for (const version of [1, 2]) {
          same(yield* tagOf(applications.save({ ...first, id, version })), "Conflict")
        }
        same(yield* applications.find(id), Option.none())
      })),
    law(
      "of parallel saves of one version exactly one succeeds, and it is the one that is kept",
      () =>
        Effect.gen(function*() {
          const { application, applications } = yield* make
          const first = yield* application()
          const names = Array.from({ length: 8 }, (_, index) => `name ${index}`)
          const results = yield* race(
            names.map((name) => applications.save({ ...first, version: 2, name }))
          )
          same(count(results, "success"), 1)
          same(count(results, "Conflict"), 7)
          const kept = yield* applications.find(first.id)
          same(Option.map(kept, ({ name }) => name), Option.some(names[results.indexOf("success")]))
        })
    ),
    law("a list has an owner's applications, newest first, page by page", () =>
      Effect.gen(function*() {
        const { application, applications, user } = yield* make
        const owner = yield* user("platform")
        const other = yield* user("platform")
        const mine = []
        for (let n = 0; n < 5; n++) {
          mine.unshift((yield* application(owner)).id)
          yield* application(other)
        }
        const page = (after: Option.Option<ApplicationId>, limit: number) =>
          Effect.map(
            applications.list({ owner: Option.some(owner.id), after, limit }),
            (found) => found.map(({ id }) => id)
          )
        same(yield* page(Option.none(), 10), mine)
        same(yield* page(Option.none(), 2), mine.slice(0, 2))
        same(yield* page(Option.fromNullable(mine[1]), 2), mine.slice(2, 4))
        same(yield* page(Option.fromNullable(mine[4]), 2), [])
        const all = yield* applications.list({ owner: Option.none(), after: Option.none(), limit: 10 })
        same(all.map(({ id }) => id), all.map(({ id }) => id).sort((a, b) => b - a))
        same([owner.id, other.id].filter((id) => !all.some(({ ownerId }) => ownerId === id)), [], "owners not listed")
      }))
  ]
}

export const recordLaws: ReadonlyArray<LawGroup<Stores>> = [applications]
