/** The laws of the port `ImportStore` itself, without services. */
import { ApplicationId } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { type ImportedToken, ImportStore } from "@startlist/core/ImportStore"
import { RegistrationId } from "@startlist/core/Registration"
import type * as Services from "@startlist/core/Services"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import { same, tagOf } from "./expecting.ts"
import { at, type Fixture, following, long, make as makeFixture, only } from "./fixture.ts"
import type { Steps } from "./storeLaw.ts"
import * as Suite from "../Suite.ts"

/** An identifier that no other law has. Small enough for many later ones. */
export const number = Random.nextIntBetween(2 ** 32, 2 ** 44)

type Stores = Services.Stores | ImportStore

/** A law of the port itself, over a new fixture. */
const storeLaw = (
  name: string,
  check: (f: Fixture, store: ImportStore.Service) => Steps<unknown, Stores>
): Suite.Law<Stores> =>
  Suite.law(
    name,
    () => Effect.flatMap(Effect.all([makeFixture, ImportStore]), ([f, store]) => Effect.gen(() => check(f, store)))
  )

/** Its laws. */
export const storeLaws: ReadonlyArray<Suite.Law<Stores>> = [
  storeLaw("an imported record has its identifier, is inserted once, and new ones come after it", function*(f, store) {
    const [owner, athlete] = [yield* f.user("platform"), yield* f.user()]
    const base = yield* f.application(owner)
    const id = yield* number
    const application = { ...base, id: ApplicationId.make(id), secrets: [{ ...first, hash: f.hash() }] }
    const signing = Redacted.make(f.name("whsec"))
    const insert = store.insertApplication(application, signing)
    same([yield* insert, yield* insert], [true, false], "an application")
    same(yield* f.applications.find(application.id), Option.some(application))
    same((yield* f.signingSecrets(application)).secrets.map(({ value }) => Redacted.value(value)), [
      Redacted.value(signing)
    ])
    same((yield* f.application(owner)).id > id, true, "the next application")

    const registration = { ...(yield* f.registration(athlete)), id: RegistrationId.make(id) }
    const register = store.insertRegistration(registration)
    same([yield* register, yield* register], [true, false], "a registration")
    same(yield* f.registrations.find(registration.id), Option.some(registration))
    same((yield* f.registration(athlete)).id > id, true, "the next registration")

    const terms = { callbackUrl: "https://app.example.test/hook", paused: false, pausedByOperator: false }
    const times = { createdAt: at(0), updatedAt: at(0) }
    const subscription = { ...terms, ...times, id: SubscriptionId.make(id), version: 1, applicationId: application.id }
    const held = yield* f.signingSecrets(application)
    const secrets = [{ ...first, number: 2, value: Redacted.make(f.name("whsec")) }]
    const stale = store.insertSubscription(subscription, Option.some({ ...held, version: 5, secrets }))
    same(yield* tagOf(stale), "@startlist/core/Conflict", "stale signing secrets")
    same(yield* f.subscriptions.findByApplication(application.id), Option.none())
    const subscribe = store.insertSubscription(subscription, Option.some({ ...held, version: 2, secrets }))
    same([yield* subscribe, yield* subscribe], [true, false], "a subscription")
    same(yield* f.signingSecrets(application), { ...held, version: 2, secrets })
    same(yield* f.subscriptions.findByApplication(application.id), Option.some(subscription))
    const other = { ...subscription, id: SubscriptionId.make(id + 1) }
    same(yield* tagOf(store.insertSubscription(other, Option.none())), "@startlist/core/AlreadySubscribed")
    yield* f.subscriptions.remove(subscription.id, at(1))
    same(yield* subscribe, false, "a subscription that was removed since")
    const next = yield* f.subscriptions.insert({ applicationId: base.id, callbackUrl: terms.callbackUrl, ...times })
    same(next.id > id, true, "the next subscription")
    yield* f.subscriptions.remove(next.id, at(1))
  }),
  storeLaw("lists have imported records in the order of their identifiers, whenever they came", function*(f, store) {
    const [base, owner, athlete] = [yield* f.application(), yield* f.user("platform"), yield* f.user()]
    const registration = yield* f.registration(athlete)
    const id = yield* number
    for (const n of [2, 3, 1]) {
      const application = { ...base, id: ApplicationId.make(id + n), ownerId: owner.id }
      yield* store.insertApplication(application, Redacted.make(f.name("whsec")))
      yield* store.insertRegistration({ ...registration, id: RegistrationId.make(id + n) })
      yield* store.insertSubscription({
        id: SubscriptionId.make(id + n),
        version: 1,
        applicationId: application.id,
        callbackUrl: "https://app.example.test/hook",
        paused: false,
        pausedByOperator: false,
        createdAt: at(0),
        updatedAt: at(0)
      }, Option.none())
    }
    const placesOf = (found: ReadonlyArray<{ readonly id: number }>) => found.map((one) => one.id - id)
    const applications = (after: Option.Option<ApplicationId>) =>
      Effect.map(f.applications.list({ owner: Option.some(owner.id), after, limit: 2 }), placesOf)
    same(yield* applications(Option.none()), [3, 2], "applications")
    same(yield* applications(Option.some(ApplicationId.make(id + 2))), [1], "the next applications")
    const subscriptions = (after: number) =>
      Effect.map(f.subscriptions.list({ after: Option.some(SubscriptionId.make(id + after)), limit: 2 }), placesOf)
    same(yield* subscriptions(4), [3, 2], "subscriptions")
    same((yield* subscriptions(2))[0], 1, "the next subscription")
    const registrations = yield* f.persons.registrations(athlete.id)
    same(placesOf(registrations.filter((one) => one.id !== registration.id)), [1, 2, 3], "registrations")
    for (const n of [1, 2, 3]) yield* f.subscriptions.remove(SubscriptionId.make(id + n), at(1))
  }),
  storeLaw(
    "tokens are imported with their grant or not at all, stay as they are, and go with their end or user",
    function*(
      f,
      store
    ) {
      const [app, owner] = [yield* f.application(), yield* f.user()]
      const grant = f.newGrant(app, owner)
      // Far before the tokens of other laws.
      const expiresAt = DateTime.subtract(long, { days: 1 })
      const token = (fields: Partial<ImportedToken> = {}): ImportedToken => ({
        hash: f.hash(),
        kind: "refresh",
        applicationId: app.id,
        userId: owner.id,
        expiresAt: at(60),
        ...fields
      })
      const [one, two, over] = [token(), token({ kind: "access" }), token({ expiresAt })]
      const later = only({ ...grant, version: 2 })
      same(yield* tagOf(store.saveGrant(later, [one])), "@startlist/core/Conflict", "over a version that is not there")
      same(yield* store.findToken(one.hash), Option.none(), "the token of a grant that was not saved")
      yield* store.saveGrant(only(grant), [one, over])
      yield* store.saveGrant(later, [{ ...one, kind: "access" }, two])
      same(
        yield* Effect.forEach([one, two, over], ({ hash }) => store.findToken(hash)),
        [one, two, over].map(Option.some)
      )
      same(yield* f.findGrant(app.id, owner.id), Option.some(later.grant))
      same(yield* store.hasTokens(), true)
      same(yield* store.purgeTokens(expiresAt, 1000), 1, "expired tokens")
      same(yield* Effect.map(store.findToken(over.hash), Option.isNone), true)
      const revocations = [only(following(later.grant, { status: "revoked" }))]
      yield* f.persons.erase({ userId: owner.id, at: at(7), registrationIds: [], revocations })
      same(yield* Effect.forEach([one, two], ({ hash }) => store.findToken(hash)), [Option.none(), Option.none()])
      same(yield* tagOf(store.saveGrant(only(grant), [one])), "@startlist/core/Conflict", "the grant of an erased user")
      same(yield* store.findToken(one.hash), Option.none())
    }
  )
]
