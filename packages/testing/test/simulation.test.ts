import { assert, describe, expect, it } from "@effect/vitest"
import {
  Application,
  Delivery,
  Event,
  GrantStore,
  Memory,
  Registration,
  Store,
  Subscription,
  Worker
} from "@startlist/core"
import { Context, DateTime, Deferred, Effect, Either, Layer, Option, Queue, Stream } from "effect"
import * as Simulation from "../src/Simulation.ts"

const { DeliveryStore } = Delivery
const { RegistrationStore } = Registration
const { SubscriptionStore } = Subscription

/** The stores in memory with something wrong with one of them. */
const planted = <Id extends Memory.Stores, S>(tag: Context.Tag<Id, S>, change: (store: S) => S) =>
  Layer.map(Memory.layer, (stores) => Context.add(stores, tag, change(Context.get(stores, tag))))

/** Settles whoever asks: the claim token does not matter. */
const settlesForAnyone = planted(DeliveryStore, (store) => {
  const tokens = new Map<number, string>()
  return {
    ...store,
    claim: (request) =>
      Effect.tap(store.claim(request), (claimed) => {
        for (const { delivery, token } of claimed) tokens.set(delivery.id, token)
      }),
    settle: (settlements) =>
      store.settle(settlements.map((one) => ({ ...one, token: tokens.get(one.delivery.id) ?? one.token })))
  }
})

/** Saves a change of a registration, and forgets its events. */
const forgetsEvents = planted(RegistrationStore, (store) => ({ ...store, save: (next) => store.save(next, []) }))

/** Cancels the deliveries of a removed subscription, but not those that are claimed. */
const forgetsClaimed = Layer.map(Memory.layer, (stores) => {
  const queue = Context.get(stores, DeliveryStore)
  const subscriptions = Context.get(stores, SubscriptionStore)
  const claimed = new Map<number, Delivery.Delivery>()
  const kept = new Map<number, Delivery.Delivery>()
  const as = (delivery: Delivery.Delivery) => kept.get(delivery.id) ?? delivery
  return stores.pipe(
    Context.add(DeliveryStore, {
      ...queue,
      claim: (request) =>
        Effect.tap(queue.claim(request), (all) => {
          for (const { delivery } of all) claimed.set(delivery.id, delivery)
        }),
      settle: (settlements) =>
        Effect.tap(queue.settle(settlements), (ids) => {
          for (const id of ids) claimed.delete(id)
        }),
      find: (id) => Effect.map(queue.find(id), Option.map(as)),
      list: (filter) => Effect.map(queue.list(filter), (all) => all.map(as))
    }),
    Context.add(SubscriptionStore, {
      ...subscriptions,
      remove: (id, now) =>
        Effect.tap(subscriptions.remove(id, now), () => {
          for (const delivery of claimed.values()) if (delivery.subscriptionId === id) kept.set(delivery.id, delivery)
        })
    })
  )
})

/** The last save wins, whatever version it was made from. */
const lastSaveWins = planted(GrantStore.GrantStore, (store) => ({
  ...store,
  save: (change) =>
    Effect.catchTag(
      store.save(change),
      "Conflict",
      () =>
        Effect.flatMap(store.find(change.grant.applicationId, change.grant.userId), (present) =>
          Option.isNone(present) ? new Store.Conflict() : store.save({
            ...change,
            grant: { ...change.grant, version: present.value.version + 1 }
          }))
    )
}))

/** Finds access tokens of every life of a grant as if they were of its present one. */
const forgetsLives = planted(GrantStore.GrantStore, (store) => ({
  ...store,
  findByAccess: (hash) =>
    Effect.map(
      store.findByAccess(hash),
      Option.map(({ credential, grant }) => ({
        grant,
        credential: { ...credential, epoch: grant.epoch }
      }))
    )
}))

/** A worker that believes that its leases last for ever. */
const staysPastItsLease = Effect.flatMap(DeliveryStore, (store) =>
  Effect.provideService(Worker.run, DeliveryStore, {
    ...store,
    claim: (request) =>
      Effect.map(store.claim(request), (claimed) =>
        claimed.map((one) => ({ ...one, leaseEnds: DateTime.add(one.leaseEnds, { days: 1 }) })))
  }))

/** Queues something, so that the listeners are told. */
const hint = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const queue = yield* DeliveryStore
  const at = DateTime.unsafeMake(0)
  const applicationId = Application.ApplicationId.make(1)
  const found = yield* subscriptions.findByApplication(applicationId)
  const { id: subscriptionId } = Option.isSome(found) ? found.value : yield* subscriptions.insert({
    applicationId,
    callbackUrl: "https://application.example.test/hook",
    createdAt: at,
    updatedAt: at,
    signingSecrets: []
  })
  const event = Event.Event.make({
    id: Event.EventId.make("evt_1"),
    aspectType: "deleted",
    objectType: "athlete",
    objectId: 1,
    updates: {},
    time: at
  })
  yield* queue.again({ applicationId, subscriptionId, event }, at)
})

const size = { hours: 0.05, pace: 600 }

describe("the simulation", () => {
  it.live("finds all laws kept over many seeds, and everything that may happen does", () =>
    Effect.gen(function*() {
      const counts = yield* Simulation.check({ ...size, seeds: 200 })
      const all = [
        "consents",
        "exchanges",
        "refreshes",
        "calls",
        "revocations",
        "changes",
        "deliveries",
        "attempts",
        "delivered",
        "exhausted",
        "cancelled",
        "watched",
        "crashes",
        "store faults",
        "callback faults"
      ]
      for (const what of all) assert.isAbove(counts.get(what) ?? 0, 0, what)
    }), 180_000)

  it.live("runs two simulated days, through the lifetime of tokens", () =>
    Effect.gen(function*() {
      const { violation } = yield* Simulation.run({ seed: 5, hours: 48, pace: 10 })
      expect(violation).toBeUndefined()
    }), 180_000)

  it.live("tells the same story for the same seed, and another for another", () =>
    Effect.gen(function*() {
      const [one, same, other] = yield* Effect.all([9, 9, 10].map((seed) => Simulation.run({ ...size, seed })))
      expect(same).toStrictEqual(one)
      expect(other?.lines).not.toStrictEqual(one?.lines)
    }))

  it.live("needs no faults to be busy", () =>
    Effect.gen(function*() {
      const { counts, violation } = yield* Simulation.run({ seed: 3, hours: 0.5, pace: 400, faults: 0 })
      expect(violation).toBeUndefined()
      expect(counts.get("crashes")).toBeUndefined()
      expect(counts.get("exhausted")).toBeUndefined()
      assert.isAbove(counts.get("delivered") ?? 0, 0)
    }))

  interface Bug {
    readonly name: string
    readonly law: number
    readonly steps: number
    readonly bug: Partial<Simulation.Options>
  }
  const bugs: ReadonlyArray<Bug> = [
    // Takes an attempt that is recorded late, a lease that ends meanwhile, and another attempt by then.
    {
      name: "a store that settles without looking at the claim token",
      law: 5,
      steps: 10,
      bug: { stores: settlesForAnyone }
    },
    { name: "a store that saves a change without its deliveries", law: 4, steps: 8, bug: { stores: forgetsEvents } },
    { name: "a removal that forgets the claimed deliveries", law: 8, steps: 8, bug: { stores: forgetsClaimed } },
    { name: "a compare-and-set that does not compare", law: 1, steps: 8, bug: { stores: lastSaveWins } },
    {
      name: "a store that forgets to which life of a grant a token belongs",
      law: 2,
      steps: 8,
      bug: { stores: forgetsLives }
    },
    { name: "a worker that attempts past its lease", law: 5, steps: 8, bug: { worker: staysPastItsLease } }
  ]
  for (const { bug, law, name, steps } of bugs) {
    it.live(`finds ${name}, and tells it in at most ${steps} steps`, () =>
      Effect.gen(function*() {
        const found = yield* Effect.either(Simulation.check({ ...size, ...bug, seeds: 400 }))
        if (Either.isRight(found)) return assert.fail("not found")
        const { outcome, story } = found.left
        expect(outcome.violation?.law, story).toBe(law)
        expect(outcome.steps.length, story).toBeLessThanOrEqual(steps)
        expect(story).toContain(`law ${law} does not hold`)
        if (process.env["STORIES"] !== undefined) console.log(story)
      }), 180_000)
  }
})

describe("the stores in memory", () => {
  it.live("keep a hint for each listener, also beside one that takes none", () =>
    Effect.scoped(Effect.gen(function*() {
      const queue = yield* DeliveryStore
      const heard = yield* Queue.unbounded<void>()
      const listen = (take: Effect.Effect<unknown>) => Effect.forkScoped(Stream.runForEach(queue.wakeUps, () => take))
      const stuck = yield* Deferred.make<void>()
      yield* listen(Effect.zipRight(Deferred.succeed(stuck, undefined), Effect.never))
      yield* listen(Queue.offer(heard, undefined))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      for (let round = 0; round < 5; round++) {
        yield* hint
        yield* Queue.take(heard)
      }
      yield* Deferred.await(stuck)
    })).pipe(Effect.provide(Memory.layer)))
})
