/** Laws of records that are saved over a version: applications, grants, registrations. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import { ApplicationId, State } from "@startlist/core/Application"
import { Grant } from "@startlist/core/Grant"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import { type Law, law, type LawGroup } from "../Law.ts"
import { holds, race, same, tagOf } from "./expecting.ts"
import { at, following, only, start } from "./fixture.ts"
import { records } from "./scenes.ts"
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
    })
  ]
}

/** Saves by many callers at the same time, which a store may join in one statement. */
const parallelSaves = (what: "grants" | "registrations"): Law<Stores> =>
  storeLaw(`parallel saves of ${what}, some refused, each have their own answer and their own events`, function*(f) {
    const apps = yield* Effect.all([f.subscribed, f.subscribed, f.subscribed])
    const owners = yield* Effect.all(Array.from({ length: 24 }, () => f.user()))
    const isRefused = (place: number) => place % 4 === 1
    const saves = yield* Effect.forEach(owners, (owner, place) =>
      Effect.gen(function*() {
        const { app } = apps[place % 3] ?? (yield* f.subscribed)
        const outgoing = f.outgoing(app, f.event(place + 1), f.event(place + 101))
        const version = isRefused(place) ? 9 : 2
        if (what === "registrations") {
          return f.registrations.save({ ...yield* f.registration(owner), version }, outgoing)
        }
        return f.grants.save({ grant: { ...yield* f.grant(app, owner), generation: 1, version }, outgoing })
      }))
    // Not in the order of their identifiers.
    const results = [...(yield* race(saves.reverse()))].reverse()
    same(results, owners.map((_, place) => isRefused(place) ? "Conflict" : "success"))
    for (const [remainder, { app }] of apps.entries()) {
      const places = owners.map((_, place) => place).filter((place) => place % 3 === remainder && !isRefused(place))
      const objects = (yield* f.listed(app)).map(({ event }) => event.objectId)
      same(objects.sort((a, b) => a - b), [...places.map((n) => n + 1), ...places.map((n) => n + 101)])
    }
    yield* f.cleanUp
  })

/** Saves in turn of two records that one find returns, and finds at the same time. */
const moments: Law<Stores> = storeLaw(
  "a find shows an application and a grant at one moment, and no earlier one than the last save that had returned",
  function*(f) {
    const app = yield* f.application()
    const grant = yield* f.grant(app, yield* f.user())
    const ends = (yield* Clock.currentTimeMillis) + 200
    let saved = 0
    let isDone = false
    const saving = Effect.gen(function*() {
      for (let n = 1; n <= 300 && (n <= 30 || (yield* Clock.currentTimeMillis) < ends); n++) {
        yield* f.applications.save({ ...app, epoch: n, version: n + 1 })
        yield* f.grants.save(only({ ...grant, generation: n, version: n + 1 }))
        saved = n
      }
      isDone = true
    })
    const finding = Effect.gen(function*() {
      while (!isDone) {
        const before = saved
        const found = Option.getOrThrow(yield* f.grants.find(app.id, grant.userId))
        const [first, then] = [found.application.epoch, found.grant.generation]
        holds(then >= before, `generation ${then} is found after generation ${before} was saved`)
        holds(first - then === 0 || first - then === 1, `epoch ${first} and generation ${then} were stored together`)
        yield* Effect.yieldNow()
      }
    })
    yield* Effect.all([saving, finding, finding, finding], { concurrency: "unbounded" })
  }
)

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
      same(yield* page(Option.none(), 2), mine.slice(0, 2))
      same(yield* page(Option.fromNullable(mine[1]), 2), mine.slice(2, 4))
      same(yield* page(Option.fromNullable(mine[4]), 2), [])
      const all = yield* f.applications.list({ owner: Option.none(), after: Option.none(), limit: 10 })
      same(all.map(({ id }) => id), all.map(({ id }) => id).sort((a, b) => b - a))
      same([owner.id, other.id].filter((id) => !all.some(({ ownerId }) => ownerId === id)), [], "owners not listed")
    })
  ]
}

const scope = FastCheck.array(Arbitraries.scopeName, { maxLength: 4 })
const span = FastCheck.tuple(Arbitraries.instant, Arbitraries.instant)

const grantFields = FastCheck.record({
  scopes: FastCheck.tuple(scope, scope, scope),
  epoch: FastCheck.nat(),
  generation: FastCheck.nat(),
  grantedAt: Arbitraries.instant,
  role: FastCheck.constantFrom<Grant["role"]>("platform", "organizer", "club", "athlete"),
  status: FastCheck.constantFrom<Grant["status"]>("active", "revoked"),
  refresh: Arbitraries.option(span),
  codes: FastCheck.array(
    FastCheck.record({
      redirectUri: Arbitraries.text(),
      scope,
      state: Arbitraries.option(Arbitraries.text(4096)),
      challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
      expiresAt: Arbitraries.instant,
      redeemed: FastCheck.boolean()
    }),
    { maxLength: 20 }
  ),
  // Several tokens share a scope: that of the grant, or of an earlier consent.
  tokens: FastCheck.array(FastCheck.tuple(span, FastCheck.nat(2)), { maxLength: 20 })
})

const savesOfGrants: LawGroup<Stores> = {
  about: "saves of grants",
  laws: [
    storeLaw("a grant is found as it was saved last, with all codes and tokens", function*(f) {
      const app = yield* f.application()
      const arbitrary = grantFields.map(({ codes, refresh, scopes, tokens, ...fields }) => ({
        ...fields,
        scope: scopes[0],
        refresh: Option.map(refresh, ([issuedAt, expiresAt]) => f.refresh({ issuedAt, expiresAt })),
        codes: codes.map(f.code),
        access: AccessTokens.fromArray(
          tokens.map(([[createdAt, expiresAt], kind]) => f.access({ createdAt, expiresAt, scope: scopes[kind] ?? [] }))
        )
      }))
      yield* forEach(FastCheck.tuple(arbitrary, arbitrary), 25, function*([before, after]) {
        const owner = yield* f.user()
        const grant = f.newGrant(app, owner, before)
        yield* f.grants.save(only(grant))
        same(yield* f.findGrant(app.id, owner.id), grant)
        const next = following(grant, after)
        yield* f.grants.save(only(next))
        same(yield* f.findGrant(app.id, owner.id), next)
        same(yield* f.grants.listByUser(owner.id), next.status === "active" ? [next] : [])
        for (const version of [1, 2, 4]) {
          same(yield* tagOf(f.grants.save(only({ ...next, version }))), "Conflict", `version ${version} over version 2`)
        }
        same(yield* f.findGrant(app.id, owner.id), next, "after refused saves")
      })
    }),
    parallelSaves("grants"),
    parallelSaves("registrations")
  ]
}

const findsOfGrants: LawGroup<Stores> = {
  about: "finds of grants",
  laws: [
    moments,
    storeLaw("parallel finds each get their own answer", function*(f) {
      const [app, other] = [yield* f.application(), yield* f.application()]
      const known = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.flatMap(f.user(), (owner) => f.grant(app, owner, { refresh: Option.some(f.refresh()) }))
      )
      yield* Effect.forEach(known, (grant) =>
        Effect.gen(function*() {
          same(yield* f.findGrant(app.id, grant.userId), grant)
          same(yield* f.findGrant(other.id, grant.userId), Option.none())
        }), { concurrency: "unbounded" })
    }),
    storeLaw("finds get their own answers, also if others that began with them are interrupted", function*(f) {
      const app = yield* f.application()
      const owners = yield* Effect.all(Array.from({ length: 12 }, () => f.user()))
      const known = yield* Effect.forEach(owners, (owner) => f.grant(app, owner))
      for (let round = 0; round < 12; round++) {
        const fibers = yield* Effect.forEach(known, ({ userId }) => Effect.fork(f.findGrant(app.id, userId)))
        yield* round % 2 === 0 ? Effect.yieldNow() : Effect.sleep(0)
        yield* Effect.forEach(fibers, (fiber, place) => place % 3 === 0 ? Fiber.interruptFork(fiber) : Effect.void)
        for (const [place, fiber] of fibers.entries()) {
          if (place % 3 !== 0) same(yield* Fiber.join(fiber), known[place])
        }
      }
    }),
    storeLaw("an application's list has its active grants, at most the limit", function*(f) {
      const [app, other] = [yield* f.application(), yield* f.application()]
      const users = [yield* f.user(), yield* f.user(), yield* f.user(), yield* f.user()]
      // In the order of users or of saves, a revoked grant is in front of the active ones.
      const made = yield* Effect.forEach(users.sort((a, b) => a.id - b.id), (user) => f.grant(app, user))
      const stays = made.slice(1, 3)
      for (const one of made) {
        if (!stays.includes(one)) yield* f.grants.save(only(following(one, { status: "revoked" })))
      }
      for (const user of users) yield* f.grant(other, user)
      const byUser = (list: ReadonlyArray<Grant>) => [...list].sort((a, b) => a.userId - b.userId)
      same(byUser(yield* f.grants.listByApplication(app.id, 10)), byUser(stays))
      same(byUser(yield* f.grants.listByApplication(app.id, 2)), byUser(stays))
      same((yield* f.grants.listByApplication(app.id, 1)).length, 1)
    }),
    storeLaw("a user's list has the active grants, oldest first", function*(f) {
      const owner = yield* f.user()
      const [a, b, c, d] = yield* Effect.all([f.application(), f.application(), f.application(), f.application()])
      yield* f.grant(c, owner, { grantedAt: DateTime.unsafeMake(999) })
      yield* f.grant(a, owner, { grantedAt: at(1.003) })
      const revoked = yield* f.grant(b, owner, { grantedAt: at(0) })
      yield* f.grants.save(only(following(revoked, { status: "revoked" })))
      yield* f.grant(d, owner, { grantedAt: at(1.002) })
      yield* f.grant(d, yield* f.user(), { grantedAt: at(1) })
      const list = yield* f.grants.listByUser(owner.id)
      same(list.map(({ applicationId }) => applicationId), [c.id, d.id, a.id])
      same(list[0], Grant.make({ ...revoked, applicationId: c.id, grantedAt: DateTime.unsafeMake(999) }))
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
  registrations,
  savesOfGrants,
  findsOfGrants
]
