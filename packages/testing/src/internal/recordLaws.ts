/** Laws of texts in every record, and of applications and registrations. */
import { type ApplicationId, State } from "@startlist/core/Application"
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { same, tagOf } from "./expecting.ts"
import { start } from "./fixture.ts"
import { forEach, storeLaw } from "./storeLaw.ts"

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
          const renamed = { ...next, name: settings.name, version: 3 }
          yield* applications.save(renamed)
          same(yield* applications.find(inserted.id), renamed, "after a change in any state")
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
  texts,
  applications,
  registrations
]
