/** Laws of versions: a save is accepted over the version before it, also if others save at the same time. */
import { ApplicationId } from "@startlist/core/Application"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Law, law, type LawGroup } from "../Law.ts"
import { holds, race, same, sorted, tagOf } from "./expecting.ts"
import { plain } from "./plain.ts"
import { queue, records, type Scene } from "./scenes.ts"
import { alone, look, staged } from "./stage.ts"
import { storeLaw } from "./storeLaw.ts"

/** Laws of every kind of record that is saved over a version. A grant is stored by its first save. */
const versionLaw = (operation: string): Law<Stores> =>
  law(
    `${operation} is accepted over the version before it and no other, and a refused one leaves nothing`,
    () =>
      Effect.gen(function*() {
        const stage = yield* staged(records, yield* alone)
        const [f] = stage.handles
        const isFirst = operation === "a first save of a grant"
        if (isFirst) same(yield* stage.run(operation, f, 1, 2), "Conflict", "version 2 of what was never stored")
        same(yield* stage.run(operation, f, 1, isFirst ? 1 : 2), null, "the save")
        const saved = yield* look(stage, f)
        for (const version of isFirst ? [1, 3] : [2, 1, 4]) {
          same(yield* stage.run(operation, f, 2, version), "Conflict", `version ${version}`)
          same(yield* look(stage, f), saved, "what is there after a refused save")
        }
        yield* stage.cleanUp
      })
  )

/** Saves by many callers at the same time, which a store may join in one statement. */
const parallelSaves = (what: "grants" | "registrations"): Law<Stores> =>
  storeLaw(`parallel saves of ${what}, some refused, each have their own answer and their own events`, function*(f) {
    const apps = yield* Effect.all([f.subscribed, f.subscribed, f.subscribed])
    // A user has grants to several applications, of which some are saved and some refused.
    const users = yield* Effect.all(Array.from({ length: 8 }, () => f.user()))
    const owners = [...users, ...users, ...users]
    const isRefused = (place: number) => place % 5 === 1
    const saves = yield* Effect.forEach(owners, (owner, place) =>
      Effect.gen(function*() {
        const { app } = apps[place % 3] ?? (yield* f.subscribed)
        const outgoing = f.outgoing(app, f.event(place + 1), f.event(place + 101))
        const version = isRefused(place) ? 9 : 2
        if (what === "registrations") {
          const registration = yield* f.registration(owner)
          const find = Effect.map(f.registrations.find(registration.id), Option.map((found) => found.version))
          return { find, save: f.registrations.save({ ...registration, version }, outgoing) }
        }
        const grant = yield* f.grant(app, owner)
        const find = Effect.map(f.findGrant(app.id, owner.id), Option.map((found) => found.version))
        return { find, save: f.grants.save({ grant: { ...grant, generation: 1, version }, outgoing }) }
      }))
    // Not in the order of their identifiers.
    const results = [...(yield* race(saves.map(({ save }) => save).reverse()))].reverse()
    same(results, owners.map((_, place) => isRefused(place) ? "Conflict" : "success"))
    const versions = yield* Effect.forEach(saves, ({ find }) => find)
    same(versions, owners.map((_, place) => isRefused(place) ? 1 : 2), "the stored versions")
    for (const [remainder, { app }] of apps.entries()) {
      const places = owners.map((_, place) => place).filter((place) => place % 3 === remainder && !isRefused(place))
      const objects = yield* f.listedObjects(app)
      same(sorted(objects), [...places.map((n) => n + 1), ...places.map((n) => n + 101)])
    }
    yield* f.cleanUp
  })

/** Saves of two versions in a row at the same time: the second one is accepted only after the first. */
const successiveSaves = (what: "grants" | "registrations"): Law<Stores> =>
  storeLaw(`of parallel saves of two versions of ${what} in a row, the answers tell which are stored`, function*(f) {
    const app = yield* f.application()
    const records = yield* Effect.forEach(Array.from({ length: 8 }), () =>
      Effect.gen(function*() {
        const owner = yield* f.user()
        if (what === "registrations") {
          const registration = yield* f.registration(owner)
          return {
            save: (version: number) => f.registrations.save({ ...registration, version }, []),
            stored: Effect.map(f.registrations.find(registration.id), Option.map(({ version }) => version))
          }
        }
        const grant = yield* f.grant(app, owner)
        return {
          save: (version: number) => f.grants.save({ grant: { ...grant, version }, outgoing: [] }),
          stored: Effect.map(f.findGrant(app.id, owner.id), Option.map(({ version }) => version))
        }
      }))
    const order = (place: number) => place % 2 === 0 ? [2, 3] : [3, 2]
    const answers = yield* Effect.forEach(
      records,
      ({ save }, place) => race(order(place).map(save)),
      { concurrency: "unbounded" }
    )
    for (const [place, { stored }] of records.entries()) {
      const saved = order(place).filter((_, index) => answers[place]?.[index] === "success")
      same(yield* stored, Option.some(Math.max(...saved)), `what is stored after ${answers[place]?.join(", ")}`)
      holds(saved.includes(2), "version 2 is stored")
    }
  })

export const versionLaws: LawGroup<Stores> = {
  about: "versions",
  laws: [
    ...[
      "a save of a grant",
      "a first save of a grant",
      "a save of an application",
      "a save of signing secrets",
      "a save of a registration",
      "a save of a subscription"
    ].map(versionLaw),
    storeLaw("a record that was never stored cannot be saved over a version, and queues nothing", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const registration = yield* f.registration(yield* f.user())
      const secrets = yield* f.signingSecrets(app)
      const id = ApplicationId.make(maxId)
      for (const version of [1, 2]) {
        const saves = [
          f.applications.save({ ...app, id, version }),
          f.applications.saveSigningSecrets({ ...secrets, applicationId: id, version }),
          f.registrations.save(
            { ...registration, id: RegistrationId.make(maxId), version },
            f.outgoing(app, f.event(1))
          ),
          f.subscriptions.save({ ...subscription, id: SubscriptionId.make(maxId), version })
        ]
        for (const save of saves) same(yield* tagOf(save), "Conflict", `version ${version}`)
      }
      same(yield* f.applications.find(id), Option.none())
      same(yield* f.applications.findSigningSecrets(id), Option.none())
      same(yield* f.registrations.find(RegistrationId.make(maxId)), Option.none())
      same(yield* f.listed(app), [])
    }),
    storeLaw("what was found does not change with later operations", function*(f) {
      for (const makeScene of [records, queue]) {
        const { operations, parts }: Scene = yield* makeScene(f)
        const found = yield* Effect.all(parts(f))
        const before = plain(found)
        // Those that end the application or its subscription are the last.
        for (const operation of Object.values(operations).reverse()) yield* Effect.either(operation(f, 1))
        same(found, before)
        yield* f.cleanUp
      }
    }),
    parallelSaves("grants"),
    parallelSaves("registrations"),
    successiveSaves("grants"),
    successiveSaves("registrations")
  ]
}
