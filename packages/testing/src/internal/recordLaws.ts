/** Laws of versions, of texts in every record, and of applications and registrations. */
import { ApplicationId, State } from "@startlist/core/Application"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import { type Law, law, type LawGroup } from "../Law.ts"
import { holds, race, same, tagOf } from "./expecting.ts"
import { start } from "./fixture.ts"
import { plain } from "./plain.ts"
import { queue, records, type Scene } from "./scenes.ts"
import { alone, look, staged } from "./stage.ts"
import { forEach, storeLaw } from "./storeLaw.ts"

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
      const objects = (yield* f.listed(app)).map(({ event }) => event.objectId)
      same(objects.sort((a, b) => a - b), [...places.map((n) => n + 1), ...places.map((n) => n + 101)])
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

const versions: LawGroup<Stores> = {
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

const applications: LawGroup<Stores> = {
  about: "applications",
  laws: [
    storeLaw("an application is found as it was inserted, at version 1, and as it was last saved", function*(f) {
      const { applications } = f
      const [{ id: ownerId }, { id: nextOwner }] = [yield* f.user("platform"), yield* f.user("platform")]
      const given = FastCheck.tuple(Arbitraries.settings, Arbitraries.clientSecrets, Arbitraries.instant)
      yield* forEach(
        FastCheck.tuple(given, given, FastCheck.constantFrom(...State.literals), FastCheck.nat({ max: 1000 })),
        25,
        function*([[settings, secrets, createdAt], [changed, rotated], state, epoch]) {
          const inserted = yield* applications.insert(
            { ...settings, ownerId, secrets, createdAt },
            Redacted.make("whsec")
          )
          const given = { ...settings, ownerId, secrets, createdAt }
          same(inserted, { ...given, id: inserted.id, version: 1, state: "active", epoch: 0 })
          same(yield* applications.find(inserted.id), inserted)
          // Nothing of the first record: a save replaces fields that may be absent, too.
          const next = {
            ...changed,
            id: inserted.id,
            ownerId: nextOwner,
            secrets: rotated,
            state,
            epoch,
            createdAt,
            version: 2
          }
          yield* applications.save(next)
          same(yield* tagOf(applications.save(next)), "Conflict", "the same save again")
          same(yield* applications.find(inserted.id), next)
        }
      )
    }),
    storeLaw(
      "signing secrets are found as the application was inserted with, and as they were last saved",
      function*(f) {
        const signing = FastCheck.array(
          FastCheck.record({
            value: Arbitraries.nonEmptyText().map(Redacted.make),
            expiresAt: Arbitraries.option(Arbitraries.instant)
          }),
          { minLength: 1, maxLength: 2 }
        )
        yield* forEach(signing, 25, function*(secrets) {
          const app = yield* f.application()
          const first = yield* f.signingSecrets(app)
          same([first.applicationId, first.version, first.secrets.length], [app.id, 1, 1])
          same(first.secrets.map(({ expiresAt }) => expiresAt), [Option.none()])
          const next = { applicationId: app.id, version: 2, secrets }
          yield* f.applications.saveSigningSecrets(next)
          same(yield* tagOf(f.applications.saveSigningSecrets(next)), "Conflict", "the same save again")
          same(yield* f.signingSecrets(app), next)
          yield* f.applications.save({ ...app, name: "renamed", secrets: [], state: "ended", version: 2 })
          same(yield* f.signingSecrets(app), next, "secrets after a change of the application")
        })
      }
    ),
    storeLaw("a list has an owner's applications, newest first, page by page", function*(f) {
      const [owner, other] = [yield* f.user("platform"), yield* f.user("platform")]
      const mine: Array<ApplicationId> = []
      for (let n = 0; n < 5; n++) {
        mine.unshift((yield* f.application(owner)).id)
        yield* f.application(other)
      }
      const page = (after: Option.Option<ApplicationId>, limit: number) =>
        Effect.map(
          f.applications.list({ owner: Option.some(owner.id), after, limit }),
          (found) => found.map(({ id }) => id)
        )
      same(yield* page(Option.none(), 10), mine)
      const [oldest] = yield* Effect.forEach(mine.slice(-1), f.applications.find)
      if (oldest !== undefined) yield* Effect.flatMap(oldest, (one) => f.applications.save({ ...one, version: 2 }))
      same(yield* page(Option.none(), 10), mine, "after a save")
      const moved = yield* f.application(other)
      yield* f.applications.save({ ...moved, ownerId: owner.id, version: 2 })
      mine.unshift(moved.id)
      same(yield* page(Option.none(), 10), mine, "after a change of the owner")
      yield* f.applications.save({ ...moved, version: 3 })
      mine.shift()
      same(yield* page(Option.none(), 10), mine, "after the next change of the owner")
      same(yield* page(Option.none(), 2), mine.slice(0, 2))
      same(yield* page(Option.fromNullable(mine[1]), 2), mine.slice(2, 4))
      same(yield* page(Option.fromNullable(mine[4]), 2), [])
      const all = yield* f.applications.list({ owner: Option.none(), after: Option.none(), limit: 10 })
      same(all.map(({ id }) => id), all.map(({ id }) => id).sort((a, b) => b - a))
      same([owner.id, other.id].filter((id) => !all.some(({ ownerId }) => ownerId === id)), [], "owners not listed")
    })
  ]
}

const registrations: LawGroup<Stores> = {
  about: "registrations",
  laws: [
    storeLaw("a registration is found as it was inserted, at version 1, and as it was last saved", function*(f) {
      const { registrations } = f
      const id = Effect.map(f.user(), (user) => Option.some(user.id))
      const users = yield* Effect.all([f.user(), id, id, id])
      const [{ id: athleteId }, organizerId, clubId, platformUserId] = users
      const parties = [
        { athleteId, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() },
        { athleteId, organizerId, clubId, platformUserId }
      ]
      const given = FastCheck.constantFrom(...parties).chain(Arbitraries.newRegistration)
      yield* forEach(FastCheck.tuple(given, given), 25, function*([registration, changed]) {
        const inserted = yield* registrations.insert(registration)
        same(inserted, { ...registration, id: inserted.id, version: 1 })
        same(yield* registrations.find(inserted.id), inserted)
        const next = { ...inserted, ...changed, version: 2 }
        yield* registrations.save(next, [])
        same(yield* tagOf(registrations.save(next, [])), "Conflict", "the same save again")
        same(yield* registrations.find(inserted.id), next)
      })
    })
  ]
}

const texts: LawGroup<Stores> = {
  about: "texts",
  laws: [
    storeLaw("texts that some store has damaged before are stored exactly, in every field", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const owner = yield* f.user()
      const { id: _, version: __, ...given } = yield* f.registration(owner)
      for (const text of Arbitraries.notorious) {
        const updates = {
          platform_id: text,
          registration_status: text,
          document_type: text,
          document_status: text,
          reasons: [text, text, ""],
          comment: text
        }
        const inserted = yield* f.registrations.insert({ ...given, updates })
        same(inserted, { ...given, updates, id: inserted.id, version: 1 })
        same(yield* f.registrations.find(inserted.id), inserted)
        const event = f.event(inserted.id, start, { updates, trace: Option.some(text) })
        yield* f.change(inserted, f.outgoing(app, event))
        same((yield* f.listed(app)).at(-1)?.event, event)
      }
      const all = Arbitraries.notorious.filter((text) => text !== "")
      const codes = all.map((text) =>
        f.code({ redirectUri: text, state: Option.some(text), challenge: Option.some(text) })
      )
      const grant = yield* f.grant(app, owner, { codes: [...codes, f.code({ state: Option.some("") })] })
      same(yield* f.findGrant(app.id, owner.id), grant)
      const secrets = all.map((text) => ({ value: Redacted.make(text), expiresAt: Option.none() }))
      const signing = { applicationId: app.id, version: 2, secrets }
      yield* f.applications.saveSigningSecrets(signing)
      same(yield* f.signingSecrets(app), signing)
      for (const [place, text] of all.entries()) {
        const links = { website: text, privacyPolicy: text, logo: text }
        const renamed = { ...app, name: `(${text})`, redirectUris: all, links, version: place + 2 }
        yield* f.applications.save(renamed)
        same(yield* f.applications.find(app.id), renamed)
        const moved = { ...subscription, callbackUrl: text, version: place + 2 }
        yield* f.subscriptions.save(moved)
        same(yield* f.subscriptions.findByApplication(app.id), moved)
      }
      const withoutLinks = { ...app, links: {}, version: all.length + 2 }
      yield* f.applications.save(withoutLinks)
      same(yield* f.applications.find(app.id), withoutLinks, "empty links")
    })
  ]
}

export const recordLaws: ReadonlyArray<LawGroup<Stores>> = [
  versions,
  texts,
  applications,
  registrations
]
