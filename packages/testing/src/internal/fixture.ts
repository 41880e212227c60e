/** Fixture of a law of the stores: its own users, applications, grants and subscriptions. */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import { type Application, ApplicationStore } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { type Delivery, DeliveryStore } from "@startlist/core/Delivery"
import { type Claimed, type ClaimRequest, DeliveryQueue, type Settlement } from "@startlist/core/DeliveryQueue"
import { Audience, Event, EventId, type Outgoing, type Updates } from "@startlist/core/Event"
import { type Change, Grant, GrantStore } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Services"
import { PersonStore } from "@startlist/core/PersonalData"
import { emptyUpdates, Registration, RegistrationStore } from "@startlist/core/Registration"
import { Fingerprint } from "@startlist/core/Secrets"
import type { StoreError } from "@startlist/core/Store"
import { type Subscription, SubscriptionStore } from "@startlist/core/Subscription"
import { type AccessToken, Code, RefreshToken } from "@startlist/core/Token"
import { type Role, User, UserId } from "@startlist/core/User"

/**
 * The start of every law, with a fraction, so that a store that stores whole seconds is noticed everywhere. Laws that
 * count what a purge removes use times far before it, where no other law has records.
 */
export const start = DateTime.unsafeMake("2030-01-01T00:00:00.357Z")

/** `seconds` after the start. */
export const at = (seconds: number): DateTime.Utc => DateTime.add(start, { seconds })

/** Before the deliveries of other laws: nothing else is due then. */
export const early = at(-1000)

/** Before the ends of the deliveries of other laws. */
export const long = at(-1e9)

/** A save of a grant without events. */
export const only = (grant: Grant): Change => ({ grant, outgoing: [] })

/** The grant at its next version. */
export const following = (grant: Grant, fields: Partial<Grant> = {}): Grant => ({
  ...grant,
  ...fields,
  version: grant.version + 1
})

/** The objects of claims, or of entries of the log. */
export const objectsOf = (found: ReadonlyArray<{ readonly delivery: Delivery }>): ReadonlyArray<number> =>
  found.map(({ delivery }) => delivery.event.objectId)

/** Settlements of claims. Each delivery has these fields, or is delivered. */
export const settled = (
  claims: ReadonlyArray<Pick<Claimed, "delivery" | "token">>,
  fields: Partial<Delivery> = { state: "delivered", endedAt: Option.some(start) }
): ReadonlyArray<Settlement> => claims.map(({ delivery, token }) => ({ delivery: { ...delivery, ...fields }, token }))

export interface Fixture extends Effect.Effect.Success<typeof make> {}

/** A fixture with names that no other has, over an emptied queue if `clearQueue` was run before. */
export const make = Effect.gen(function*() {
  const services = yield* Effect.context<Stores>()
  const applications = frozen(Context.get(services, ApplicationStore))
  const deliveries = frozen(Context.get(services, DeliveryStore))
  const deliveryQueue = frozen(Context.get(services, DeliveryQueue))
  const grants = frozen(Context.get(services, GrantStore))
  const persons = frozen(Context.get(services, PersonStore))
  const registrations = frozen(Context.get(services, RegistrationStore))
  const subscriptions = frozen(Context.get(services, SubscriptionStore))

  const label = (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36).padStart(10, "0")
  let made = 0
  const name = (kind: string) => `${kind}-${label}-${++made}`
  const hash = () => Fingerprint.make(name("Hash"))

  /** A user. Stores know only the identifier. */
  const user = (role: Role = "athlete"): Effect.Effect<User> =>
    Effect.map(Random.nextIntBetween(1, 2 ** 48), (id) => {
      const email = `${name("user")}@example.test`
      return { id: UserId.make(id), role, email, firstName: "Ada", lastName: "Lovelace" }
    })

  const application = (owner?: User) =>
    Effect.gen(function*() {
      const { id: ownerId } = owner ?? (yield* user("platform"))
      return yield* applications.insert({
        name: name("application"),
        ownerId,
        redirectUris: ["https://app.example.test/callback"],
        requirePkce: false,
        secrets: [{ ...first, hash: hash() }],
        createdAt: start
      }, Redacted.make(name("whsec")))
    })

  const newGrant = (app: Application, { id: userId, role }: User, fields: Partial<Grant> = {}): Grant => ({
    applicationId: app.id,
    userId,
    version: 1,
    status: "active",
    role,
    scope: ["profile:read"],
    epoch: 1,
    applicationEpoch: app.epoch,
    generation: 0,
    lineStart: 1,
    grantedAt: start,
    refresh: Option.none(),
    access: [],
    codes: [],
    ...fields
  })

  const grant = (app: Application, owner: User, fields: Partial<Grant> = {}) =>
    Effect.gen(function*() {
      const made = newGrant(app, owner, fields)
      yield* grants.save(only(made))
      return made
    })

  /** The grant that is stored, whatever its application is. */
  const findGrant = (id: Application["id"], userId: UserId) =>
    Effect.map(grants.find(id, userId), Option.map((found) => found.grant))

  const code = (fields: Partial<Code> = {}): Code => ({
    hash: hash(),
    redirectUri: "https://app.example.test/callback",
    scope: ["profile:read"],
    state: Option.none(),
    challenge: Option.none(),
    expiresAt: at(300),
    redeemed: Option.none(),
    ...fields
  })

  const access = (fields: Partial<AccessToken> = {}): AccessToken => ({
    hash: hash(),
    scope: ["profile:read"],
    createdAt: start,
    expiresAt: at(28_800),
    ...fields
  })

  const refresh = (fields: Partial<RefreshToken> = {}): RefreshToken => ({
    hash: hash(),
    salt: name("salt"),
    issuedAt: start,
    expiresAt: at(28_800),
    ...fields
  })

  const subscribers: Array<Subscription> = []

  const subscription = (app: Application, callbackUrl = "https://app.example.test/hook") =>
    Effect.suspend(() =>
      Effect.tap(
        subscriptions.insert({
          applicationId: app.id,
          callbackUrl,
          createdAt: start,
          updatedAt: start
        }),
        (inserted) => Effect.sync(() => subscribers.push(inserted))
      )
    )

  /** Removes the subscriptions of the fixture. */
  const unsubscribe = Effect.suspend(() =>
    Effect.forEach(subscribers.splice(0), ({ id }) => subscriptions.remove(id, start), { discard: true })
  )

  /** Removes the deliveries that have ended. */
  const purge = Effect.repeat(deliveries.purge(at(1000), 1000), { until: (count) => count < 1000, times: 100 })

  /** Removes the subscriptions of the fixture and their deliveries, so that stores stay small and fast. */
  const cleanUp = Effect.zipRight(unsubscribe, purge)

  const registration = (athlete: User, others: { readonly organizerId?: UserId; readonly updates?: Updates } = {}) =>
    registrations.insert({
      parties: {
        athleteId: athlete.id,
        organizerId: Option.fromNullable(others.organizerId),
        clubId: Option.none(),
        platformUserId: Option.none()
      },
      updates: others.updates ?? emptyUpdates
    })

  let traced = 0

  /** An event about a registration (or, with `fields`, anything else) at `time`. Every other one was traced. */
  const event = (objectId: number, time: DateTime.Utc = start, fields: Partial<Event> = {}): Event => ({
    id: EventId.make(name("evt")),
    aspectType: "updated",
    objectType: "registration",
    objectId,
    updates: emptyUpdates,
    time,
    sequence: made,
    trace: ++traced % 2 === 0 ? Option.none() : Option.some(name("trace")),
    ...fields
  })

  /** An event about each of these registrations. */
  const events = (objects: ReadonlyArray<number>, time?: DateTime.Utc) => objects.map((object) => event(object, time))

  /** These events, for one application. */
  const outgoing = ({ id: applicationId }: Application, ...events: ReadonlyArray<Event>): ReadonlyArray<Outgoing> =>
    events.map((event) => ({ event, audience: Audience.Application({ applicationId }) }))

  /** Queues these events for an application, in this order, each in a save of its own. */
  const queue = (app: Application, events: ReadonlyArray<Event>) =>
    Effect.gen(function*() {
      let present = yield* registration(yield* user())
      for (const one of events) present = yield* change(present, outgoing(app, one))
    })

  /** Queues these events for an application, all in one call. */
  const enqueue = (app: Application, events: ReadonlyArray<Event>) => deliveryQueue.enqueue(outgoing(app, ...events))

  /** Saves the registration at its next version with these events. */
  const change = (registration: Registration, outgoing: ReadonlyArray<Outgoing>) =>
    Effect.gen(function*() {
      const next = { ...registration, version: registration.version + 1 }
      yield* registrations.save(next, outgoing)
      return next
    })

  /** The signing secrets of an application. */
  const signingSecrets = (app: Application) => Effect.map(applications.findSigningSecrets(app.id), Option.getOrThrow)

  /** An application with a subscription. */
  const subscribed = Effect.gen(function*() {
    const app = yield* application()
    return { app, subscription: yield* subscription(app) }
  })

  const claim = (request: Partial<ClaimRequest> = {}): Effect.Effect<ReadonlyArray<Claimed>, StoreError> =>
    Effect.suspend(() =>
      deliveryQueue.claim({
        now: start,
        leaseEnds: at(15),
        token: name("claim"),
        limit: 1000,
        perSubscription: 1000,
        allowances: new Map(),
        ...request
      })
    )

  /** A claim at this second, for fifteen seconds. */
  const claimAt = (seconds: number, request: Partial<ClaimRequest> = {}) =>
    claim({ now: at(seconds), leaseEnds: at(seconds + 15), ...request })

  /** Settles claims. Each delivery has these fields, or is delivered. */
  const settle = (claims: Parameters<typeof settled>[0], fields?: Partial<Delivery>) =>
    deliveryQueue.settle(settled(claims, fields))

  /** An application with `count` claimed deliveries, of objects from 1. The queue must be empty. */
  const claimedDeliveries = (count: number) =>
    Effect.gen(function*() {
      const { app, subscription } = yield* subscribed
      yield* queue(app, events(Arr.range(1, count)))
      return { app, claimed: yield* claim(), subscription }
    })

  /** All deliveries of an application, oldest first. */
  const listed = (app: Application) =>
    Effect.map(
      deliveries.list({
        applicationId: Option.some(app.id),
        state: Option.none(),
        after: Option.none(),
        limit: 10_000
      }),
      (found) => [...found].reverse()
    )

  /** The objects of all deliveries of an application, oldest first. */
  const listedObjects = (app: Application) =>
    Effect.map(listed(app), (found) => found.map(({ event }) => event.objectId))

  return {
    access,
    application,
    applications,
    change,
    claim,
    claimAt,
    claimedDeliveries,
    cleanUp,
    code,
    deliveries,
    deliveryQueue,
    enqueue,
    event,
    events,
    findGrant,
    grant,
    grants,
    hash,
    label,
    listed,
    listedObjects,
    name,
    newGrant,
    outgoing,
    persons,
    purge,
    queue,
    refresh,
    registration,
    registrations,
    services,
    settle,
    signingSecrets,
    subscribed,
    subscription,
    subscriptions,
    unsubscribe,
    user
  }
})

const isPlain = (value: unknown): value is object =>
  Array.isArray(value) || Predicate.isRecord(value) && Object.getPrototypeOf(value) === Object.prototype

/** Freezes records and lists, and those in them. */
const freeze = (value: unknown): void => {
  if (!isPlain(value) || Object.isFrozen(value)) return
  Object.freeze(value)
  Object.values(value).forEach(freeze)
}

/** The same store, whose methods get frozen arguments. One that writes into them fails. */
const frozen = <Service extends object>(service: Service): Service =>
  new Proxy(service, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        freeze(parameters)
        return Reflect.apply(member, target, parameters)
      }
    }
  })
