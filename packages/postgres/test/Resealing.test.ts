/** A change of the master key: both keys open, the new one seals, and after the resealing the old one is not needed. */
import { expect, it } from "@effect/vitest"
import { Application, DeliveryQueue, Event, Subscription, User } from "@startlist/core"
import { Postgres, Queue, Seal, SealedSecrets } from "@startlist/postgres"
import { DateTime, Effect, Layer, Logger, LogLevel, Metric, Option, Redacted } from "effect"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const key = (fill: number) => Redacted.make(Buffer.alloc(32, fill).toString("base64"))

const secretOf = (application: number) => `whsec_${Buffer.alloc(32, application).toString("base64")}`

/** A node of an installation with these keys. */
const withKeys = (present: number, ...retired: ReadonlyArray<number>) => {
  const seal = Seal.layerWith({ key: key(present), retired: retired.map(key) })
  return Effect.provide(
    Layer.unwrapEffect(
      Effect.map(TestDatabase.TestDatabase, ({ url }) => Layer.provideMerge(Postgres.layer({ url }), seal))
    )
  )
}

/** The application number `place`, with a subscription. */
const subscribe = (place: number) =>
  Effect.gen(function*() {
    const applications = yield* Application.ApplicationStore
    const subscriptions = yield* Subscription.SubscriptionStore
    const now = DateTime.unsafeMake(0)
    const { id: applicationId } = yield* applications.insert({
      name: "App",
      ownerId: User.UserId.make(1),
      redirectUris: [],
      requirePkce: false,
      secrets: [],
      createdAt: now
    }, Redacted.make(secretOf(place)))
    const callbackUrl = "https://app.test/events"
    return yield* subscriptions.insert({ applicationId, callbackUrl, createdAt: now, updatedAt: now })
  })

const read = (application: number) =>
  Effect.gen(function*() {
    const applications = yield* Application.ApplicationStore
    const found = yield* applications.findSigningSecrets(Application.ApplicationId.make(application))
    return Option.getOrThrow(found).secrets.map(({ value }) => Redacted.value(value))
  })

it.live("a key is changed in steps, each of which leaves every secret readable", () =>
  Effect.gen(function*() {
    const everyone = Array.from({ length: 3 }, (_, i) => i + 1)
    const expected = everyone.map((application) => [secretOf(application)])
    const readAll = Effect.forEach(everyone, read)
    yield* subscribe(1).pipe(withKeys(1))
    // All nodes get the new key before the first one seals with it.
    yield* subscribe(2).pipe(withKeys(1, 2))
    yield* subscribe(3).pipe(withKeys(2, 1))
    expect(yield* readAll.pipe(withKeys(1, 2))).toEqual(expected)
    expect(yield* readAll.pipe(withKeys(2, 1))).toEqual(expected)
    expect(yield* SealedSecrets.reseal.pipe(withKeys(2, 1))).toEqual({ resealed: 2, unreadable: [] })
    expect(yield* SealedSecrets.reseal.pipe(withKeys(2, 1))).toEqual({ resealed: 0, unreadable: [] })
    expect(yield* readAll.pipe(withKeys(2))).toEqual(expected)
    expect(yield* read(1).pipe(withKeys(1))).toEqual([])
  }).pipe(Effect.provide(TestDatabase.layer)))

it.live("a secret that no key opens is reported, not changed, and does not block others", () =>
  Effect.gen(function*() {
    yield* subscribe(1).pipe(withKeys(1))
    yield* subscribe(2).pipe(withKeys(9))
    yield* subscribe(3).pipe(withKeys(1))
    expect(yield* SealedSecrets.reseal.pipe(withKeys(2, 1))).toEqual({ resealed: 2, unreadable: [2] })
    expect(yield* read(3).pipe(withKeys(2))).toEqual([secretOf(3)])
    expect(yield* read(2).pipe(withKeys(9))).toEqual([secretOf(2)])
  }).pipe(Effect.provide(TestDatabase.layer)))

it.live("the events of a subscription whose secret no key opens wait and are counted; those of all others are claimed", () =>
  Effect.gen(function*() {
    const waitedBefore = (yield* Metric.value(Queue.withoutKey)).count
    yield* subscribe(1).pipe(withKeys(1))
    yield* subscribe(2).pipe(withKeys(9))
    yield* subscribe(3).pipe(withKeys(1))
    const claimed = yield* Effect.gen(function*() {
      const deliveries = yield* DeliveryQueue.DeliveryQueue
      const now = DateTime.unsafeMake(0)
      yield* deliveries.enqueue([1, 2, 3].map((application): Event.Outgoing => ({
        event: {
          id: Event.EventId.make(`evt_${application}`),
          aspectType: "deleted",
          objectType: "athlete",
          objectId: Event.ObjectId.make(application),
          time: now,
          sequence: 1,
          trace: Option.none(),
          updates: {}
        },
        audience: Event.Audience.Application({ applicationId: Application.ApplicationId.make(application) })
      })))
      return yield* deliveries.claim({
        now,
        leaseEnds: DateTime.unsafeMake(15_000),
        token: "token",
        limit: 10,
        perSubscription: 10,
        allowances: new Map()
      })
    }).pipe(withKeys(1))
    expect(claimed.map(({ delivery }) => delivery.applicationId).sort()).toEqual([1, 3])
    expect((yield* Metric.value(Queue.withoutKey)).count).toBe(waitedBefore + 1)
  }).pipe(Logger.withMinimumLogLevel(LogLevel.None), Effect.provide(TestDatabase.layer)))

it.live("a subscription whose secret no key opens is shown and removed, and its claims do not count", () =>
  Effect.gen(function*() {
    const application = Application.ApplicationId.make(1)
    yield* subscribe(1).pipe(withKeys(9))
    const claimAt = (seconds: number) =>
      Effect.flatMap(DeliveryQueue.DeliveryQueue, ({ claim }) =>
        claim({
          now: DateTime.unsafeMake(seconds * 1000),
          leaseEnds: DateTime.unsafeMake(seconds * 1000 + 15_000),
          token: `token ${seconds}`,
          limit: 10,
          perSubscription: 10,
          allowances: new Map()
        }))
    yield* Effect.gen(function*() {
      const deliveries = yield* DeliveryQueue.DeliveryQueue
      const subscriptions = yield* Subscription.SubscriptionStore
      const found = Option.getOrThrow(yield* subscriptions.findByApplication(application))
      expect(found.callbackUrl).toBe("https://app.test/events")
      const event = Event.Event.make({
        id: Event.EventId.make("evt_1"),
        aspectType: "deleted",
        objectType: "athlete",
        objectId: Event.ObjectId.make(1),
        time: DateTime.unsafeMake(0),
        sequence: 1,
        trace: Option.none(),
        updates: {}
      })
      yield* deliveries.enqueue([{ event, audience: Event.Audience.Application({ applicationId: application }) }])
      for (const seconds of [0, 15, 30, 45, 60, 75, 90]) expect(yield* claimAt(seconds)).toEqual([])
    }).pipe(withKeys(1))
    expect((yield* claimAt(105).pipe(withKeys(9))).map(({ claims }) => claims)).toEqual([1])
    yield* Effect.gen(function*() {
      const subscriptions = yield* Subscription.SubscriptionStore
      const found = Option.getOrThrow(yield* subscriptions.findByApplication(application))
      expect(yield* subscriptions.remove(found.id, DateTime.unsafeMake(0))).toBe(true)
      expect(yield* subscriptions.findByApplication(application)).toEqual(Option.none())
    }).pipe(withKeys(1))
  }).pipe(Logger.withMinimumLogLevel(LogLevel.None), Effect.provide(TestDatabase.layer)))

it.live("a subscription that changes during resealing keeps its change", () =>
  Effect.gen(function*() {
    yield* Effect.forEach([1, 2, 3, 4, 5], subscribe).pipe(withKeys(1))
    const replaced = "https://app.test/moved"
    const move = (application: number) =>
      Effect.gen(function*() {
        const subscriptions = yield* Subscription.SubscriptionStore
        const found = yield* subscriptions.findByApplication(Application.ApplicationId.make(application))
        const { version, ...rest } = Option.getOrThrow(found)
        yield* subscriptions.save(
          Subscription.Subscription.make({ ...rest, version: version + 1, callbackUrl: replaced })
        )
      }).pipe(Effect.retry({ while: ({ _tag }) => _tag === "@startlist/core/Conflict" }))
    const [result] = yield* Effect.all([SealedSecrets.reseal, Effect.forEach([1, 2, 3, 4, 5], move)], {
      concurrency: "unbounded"
    }).pipe(withKeys(2, 1))
    expect(result.unreadable).toEqual([])
    const seen = yield* Effect.forEach([1, 2, 3, 4, 5], (application) =>
      Effect.gen(function*() {
        const subscriptions = yield* Subscription.SubscriptionStore
        return Option.getOrThrow(
          yield* subscriptions.findByApplication(Application.ApplicationId.make(application))
        ).callbackUrl
      })).pipe(withKeys(2))
    expect(seen).toEqual(Array.from({ length: 5 }, () => replaced))
  }).pipe(Effect.provide(TestDatabase.layer)))
