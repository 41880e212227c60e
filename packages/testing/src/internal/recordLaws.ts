/** Laws of records: texts in every field, saves of none, grants that count, and what was found before. */
import { ApplicationId } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { Audience } from "@startlist/core/Event"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Suite.ts"
import { plain, same, tagOf } from "./expecting.ts"
import { only, start } from "./fixture.ts"
import * as deliveries from "./deliveryScenes.ts"
import * as records from "./recordScenes.ts"
import { storeLaw } from "./storeLaw.ts"

export const recordLaws: LawGroup<Stores> = {
  about: "records",
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
      const secrets = all.map((text, place) => ({ ...first, number: place + 1, value: Redacted.make(text) }))
      const signing = { applicationId: app.id, version: 2, secrets }
      yield* f.applications.saveSigningSecrets(signing)
      same(yield* f.signingSecrets(app), signing)
      for (const [place, text] of all.entries()) {
        const links = { website: text, privacyPolicy: "", logo: text }
        const renamed = { ...app, name: `(${text})`, redirectUris: all, links, version: place + 2 }
        yield* f.applications.save(renamed)
        same(yield* f.applications.find(app.id), renamed)
        const moved = { ...subscription, callbackUrl: text, version: place + 2 }
        yield* f.subscriptions.save(moved)
        same(yield* f.subscriptions.findByApplication(app.id), moved)
      }
    }),
    storeLaw("a save that leaves out what was there before leaves nothing of it", function*(f) {
      const owner = yield* f.user()
      const app = yield* f.application()
      const { links: _, ...withoutLinks } = { ...app, version: 4 }
      const [website, empty] = [{ website: "https://app.example.test" }, { ...app, links: {}, version: 2 }]
      yield* f.applications.save(empty)
      same(yield* f.applications.find(app.id), empty, "empty links")
      const limited = { ...app, links: website, requestsPerMinute: 600, version: 3 }
      const limit = Effect.map(
        f.grants.find(app.id, owner.id),
        Option.map(({ application }) => application.requestsPerMinute ?? 0)
      )
      yield* f.grant(app, owner)
      yield* f.applications.save(limited)
      same(yield* f.applications.find(app.id), limited)
      same(yield* limit, Option.some(600), "the limit beside a grant")
      yield* f.applications.save(withoutLinks)
      same(yield* f.applications.find(app.id), withoutLinks)
      same(yield* limit, Option.some(0), "no limit beside a grant")
      const party = Option.some(owner.id)
      const registration = { ...yield* f.registration(owner), version: 3 }
      const parties = { athleteId: owner.id, organizerId: party, clubId: party, platformUserId: party }
      yield* f.registrations.save({ ...registration, parties, version: 2 }, [])
      yield* f.registrations.save(registration, [])
      same(yield* f.registrations.find(registration.id), registration)
      const member = yield* f.user()
      const grant = { ...f.newGrant(app, member), version: 2 }
      const codes = [f.code({ state: Option.some("state"), challenge: Option.some("challenge") })]
      yield* f.grant(app, member, { codes, refresh: Option.some(f.refresh()) })
      yield* f.grants.save(only(grant))
      same(yield* f.findGrant(app.id, member.id), grant)
    }),
    storeLaw("the longest texts are stored, with one, two or four bytes for each character", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const owner = yield* f.user()
      let [version, registration] = [1, yield* f.registration(owner)]
      for (const character of ["a", "é", "🏃"]) {
        const text = (length: number) => character.repeat(length / character.length)
        version += 1
        const updates = { ...registration.updates, platform_id: text(200), comment: text(2000), reasons: [text(200)] }
        const next = { ...registration, updates, version }
        yield* f.registrations.save(next, f.outgoing(app, f.event(1, start, { updates })))
        same(yield* f.registrations.find(next.id), next)
        same(yield* tagOf(f.registrations.save(next, [])), "@startlist/core/Conflict", "the same save again")
        same((yield* f.listed(app)).at(-1)?.event.updates, updates)
        registration = next
        const renamed = { ...app, name: text(100), redirectUris: [text(200)], version }
        yield* f.applications.save(renamed)
        same(yield* f.applications.find(app.id), renamed)
        const moved = { ...subscription, callbackUrl: text(254), version }
        yield* f.subscriptions.save(moved)
        same(yield* f.subscriptions.findByApplication(app.id), moved)
        const codes = [f.code({ state: Option.some(text(4096)), redirectUri: text(200) })]
        const grant = yield* f.grant(app, yield* f.user(), { codes })
        same(yield* f.findGrant(app.id, grant.userId), grant)
      }
      yield* f.cleanUp
    }),
    storeLaw("a save of a record that was never inserted fails, and inserts nothing", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const registration = yield* f.registration(yield* f.user())
      const secrets = yield* f.signingSecrets(app)
      const no = { app: ApplicationId.make(maxId), registration: RegistrationId.make(maxId) }
      for (const version of [1, 2]) {
        const saves = [
          f.applications.save({ ...app, id: no.app, version }),
          f.applications.saveSigningSecrets({ ...secrets, applicationId: no.app, version }),
          f.subscriptions.save({ ...subscription, id: SubscriptionId.make(maxId), version }),
          f.registrations.save({ ...registration, id: no.registration, version }, f.outgoing(app, f.event(1)))
        ]
        const tags = yield* Effect.all(saves.map((save) => tagOf(save)))
        same(tags, saves.map(() => "@startlist/core/Conflict"), `version ${version}`)
      }
      same(yield* f.applications.find(no.app), Option.none())
      same(yield* f.applications.findSigningSecrets(no.app), Option.none())
      same(yield* f.registrations.find(no.registration), Option.none())
      same(yield* f.listed(app), [])
      yield* f.cleanUp
    }),
    storeLaw("revoked grants and those of an earlier epoch take no place on a list of grants", function*(f) {
      const app = yield* f.application()
      const users = (yield* Effect.all(Arr.makeBy(7, () => f.user()))).sort((one, other) => one.id - other.id)
      // In any order of users, others are before the one in the middle.
      const owners = users.splice(3, 1)
      const third = (rest: number) => users.filter((_, place) => place % 3 === rest)
      const applicationEpoch = app.epoch + 1
      for (const user of third(0)) yield* f.grant(app, user)
      for (const user of third(1)) yield* f.grant(app, user, { status: "revoked" })
      yield* f.applications.save({ ...app, epoch: applicationEpoch, version: 2 })
      for (const user of third(2)) yield* f.grant(app, user, { status: "revoked", applicationEpoch })
      const grants = yield* Effect.forEach(owners, (owner) => f.grant(app, owner, { applicationEpoch }))
      same(yield* f.grants.listByApplication(app.id, 1), grants)
    }),
    storeLaw("an event for several users reaches an application once, if a grant of any of them counts", function*(f) {
      const { app } = yield* f.subscribed
      const [stranger, former, earlier, present] = yield* Effect.all([f.user(), f.user(), f.user(), f.user()])
      yield* f.grant(app, earlier)
      yield* f.applications.save({ ...app, epoch: app.epoch + 1, version: 2 })
      yield* f.grant(app, former, { status: "revoked", applicationEpoch: app.epoch + 1 })
      yield* f.grant(app, present, { applicationEpoch: app.epoch + 1 })
      const users = [stranger, former, earlier, present]
      const audiences = users.flatMap((a) => users.flatMap((b) => users.map((c) => [a, b, c])))
      yield* f.deliveryQueue.enqueue(audiences.map((users, place) => ({
        event: f.event(place + 1),
        audience: Audience.GrantedBy({ userIds: users.map(({ id }) => id) })
      })))
      const expected = audiences.flatMap((users, place) => users.includes(present) ? [place + 1] : [])
      same(yield* f.listedObjects(app), expected)
      yield* f.cleanUp
    }),
    storeLaw("a page continues behind a record that is gone, and has suspended applications", function*(f) {
      const [oldest, gone, newest] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      const suspended = { ...oldest.app, state: "suspended", version: 2 } as const
      yield* f.applications.save(suspended)
      yield* f.subscriptions.remove(gone.subscription.id, start)
      yield* f.applications.save({ ...gone.app, state: "ended", version: 2 })
      for (const { app, subscription } of [gone, newest]) {
        const subscriptions = yield* f.subscriptions.list({ after: Option.some(subscription.id), limit: 1 })
        same(subscriptions, [oldest.subscription])
        const after = Option.some(app.id)
        same(yield* f.applications.list({ after, limit: 1, owner: Option.none() }), [suspended])
      }
      yield* f.cleanUp
    }),
    storeLaw("an application is inserted once with the same client secret, replaced or not", function*(f) {
      const owner = yield* f.user()
      const { id: _, state: __, epoch: ___, version: ____, ...given } = {
        ...(yield* f.application(owner)),
        secrets: [{ ...first, hash: f.hash() }]
      }
      const insert = () => Effect.option(f.applications.insert(given, Redacted.make("whsec")))
      const inserted = (yield* Effect.forEach([1, 2, 3], insert, { concurrency: "unbounded" })).flatMap(
        Option.toArray
      )
      same(inserted.length, 1, "the number of insertions at the same time that succeed")
      const [app] = inserted
      if (app === undefined) return
      yield* f.applications.save({ ...app, version: 2, secrets: [{ ...first, hash: f.hash() }] })
      same(yield* tagOf(f.applications.insert(given, Redacted.make("whsec"))), "@startlist/core/Conflict")
    }),
    storeLaw("a record that was looked for before it was inserted is found", function*(f) {
      const { app } = yield* f.subscribed
      const owner = yield* f.user()
      const registration = yield* f.registration(owner)
      for (let n = 1; n <= 20; n++) {
        const id = ApplicationId.make(app.id + n)
        yield* f.applications.find(id)
        yield* f.applications.findSigningSecrets(id)
        yield* f.subscriptions.findByApplication(id)
        yield* f.findGrant(id, owner.id)
        yield* f.registrations.find(RegistrationId.make(registration.id + n))
      }
      const next = yield* f.subscribed
      same(yield* f.applications.find(next.app.id), next.app)
      same((yield* f.signingSecrets(next.app)).version, 1)
      same(yield* f.subscriptions.findByApplication(next.app.id), next.subscription)
      const grant = yield* f.grant(next.app, owner)
      same(yield* f.findGrant(next.app.id, owner.id), grant)
      const other = yield* f.registration(owner)
      same(yield* f.registrations.find(other.id), other)
      yield* f.cleanUp
    }),
    storeLaw("an application that has ended keeps its signing secrets, and gets no subscription", function*(f) {
      const app = yield* f.application()
      const secrets = yield* f.signingSecrets(app)
      yield* f.applications.save({ ...app, state: "ended", version: 2 })
      same(yield* tagOf(f.subscription(app)), "@startlist/core/ApplicationNotFound")
      same(yield* f.subscriptions.findByApplication(app.id), Option.none())
      same(yield* f.applications.findSigningSecrets(app.id), secrets)
    }),
    storeLaw("what was found does not change with later operations", function*(f) {
      for (const makeScene of [records.records, deliveries.queue]) {
        const { operations, parts }: records.Scene = yield* makeScene(f)
        const found = yield* Effect.all(parts(f))
        const before = plain(found)
        // Those that end the application or its subscription are the last.
        for (const operation of Object.values(operations).reverse()) yield* Effect.either(operation(f, 1))
        same(found, before)
        yield* f.cleanUp
      }
    })
  ]
}
