/** Bugs for the simulation: one store or worker with something wrong, and the law that it breaks. */
import {
  AccessTokens,
  Application,
  Delivery,
  GrantStore,
  Memory,
  Registration,
  Store,
  type Stores,
  Subscription,
  Worker
} from "@startlist/core"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { Context, DateTime, Effect, Either, Layer, Option } from "effect"
import { assert, expect } from "vitest"
import * as Simulation from "../src/Simulation.ts"

const { ApplicationStore } = Application
const { DeliveryStore } = Delivery
const { RegistrationStore } = Registration
const { SubscriptionStore } = Subscription

/** The stores in memory with something wrong with one of them. */
const planted = <Id extends Stores.Stores, S>(tag: Context.Tag<Id, S>, change: (store: S) => S) =>
  Layer.map(Memory.layer, (stores) => Context.add(stores, tag, change(Context.get(stores, tag))))

/** Settles without comparing the claim token. */
const settlesForAnyone = planted(DeliveryQueue, (store) => {
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
  const queue = Context.get(stores, DeliveryQueue)
  const store = Context.get(stores, DeliveryStore)
  const subscriptions = Context.get(stores, SubscriptionStore)
  const claimed = new Map<number, Delivery.Delivery>()
  const kept = new Map<number, Delivery.Delivery>()
  const as = (delivery: Delivery.Delivery) => kept.get(delivery.id) ?? delivery
  return stores.pipe(
    Context.add(DeliveryQueue, {
      ...queue,
      claim: (request) =>
        Effect.tap(queue.claim(request), (all) => {
          for (const { delivery } of all) claimed.set(delivery.id, delivery)
        }),
      settle: (settlements) =>
        Effect.tap(queue.settle(settlements), (ids) => {
          for (const id of ids) claimed.delete(id)
        })
    }),
    Context.add(DeliveryStore, {
      ...store,
      find: (id) => Effect.map(store.find(id), Option.map(as)),
      list: (filter) => Effect.map(store.list(filter), (all) => all.map(as))
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
            grant: { ...change.grant, version: present.value.grant.version + 1 }
          }))
    )
}))

/** Keeps the access tokens of every life of a grant. */
const forgetsLives = planted(GrantStore.GrantStore, (store) => ({
  ...store,
  save: ({ grant, outgoing }) =>
    Effect.flatMap(store.find(grant.applicationId, grant.userId), (present) => {
      const kept = Option.match(present, { onNone: () => "", onSome: (found) => found.grant.access })
      return store.save({ grant: { ...grant, access: AccessTokens.AccessTokens.make(kept + grant.access) }, outgoing })
    })
}))

/** Saves nothing of the state of an application. */
const goesOn = planted(
  ApplicationStore,
  (store) => ({ ...store, save: (next) => store.save({ ...next, state: "active" }) })
)

/** Saves nothing of a pause. */
const neverPauses = planted(SubscriptionStore, (store) => ({
  ...store,
  save: (next) => store.save({ ...next, paused: false })
}))

/** Revokes one grant of each user, and then no other. */
const revokesOnce = planted(GrantStore.GrantStore, (store) => {
  const revoked = new Map<number, number>()
  return {
    ...store,
    save: (change) =>
      Effect.suspend(() => {
        const { applicationId, status, userId } = change.grant
        if (status !== "revoked") return store.save(change)
        if ((revoked.get(userId) ?? applicationId) !== applicationId) return Effect.void
        revoked.set(userId, applicationId)
        return store.save(change)
      })
  }
})

/** A worker that ignores the end of its leases. */
const staysPastItsLease = Effect.flatMap(DeliveryQueue, (store) =>
  Effect.provideService(Worker.run, DeliveryQueue, {
    ...store,
    claim: (request) =>
      Effect.map(store.claim(request), (claimed) =>
        claimed.map((one) => ({ ...one, leaseEnds: DateTime.add(one.leaseEnds, { days: 1 }) })))
  }))

export interface Bug {
  readonly name: string
  /** The laws that it may break first. */
  readonly laws: ReadonlyArray<number>
  /** A seed that shows it. */
  readonly seed: number
  /** Maximum number of steps of the counterexample. */
  readonly steps: number
  readonly bug: Partial<Simulation.Options>
}

/** Large enough for the bugs to show, small enough for many seeds. */
export const size = { hours: 0.05, pace: 600 }

export const bugs: ReadonlyArray<Bug> = [
  // Takes an attempt that is recorded late, after its lease has ended and another attempt was made.
  {
    name: "a store that settles without looking at the claim token",
    laws: [5],
    seed: 78,
    steps: 12,
    bug: { stores: settlesForAnyone }
  },
  {
    name: "a store that saves a change without its deliveries",
    laws: [4],
    seed: 1,
    steps: 8,
    bug: { stores: forgetsEvents }
  },
  {
    name: "a removal that forgets the claimed deliveries",
    laws: [8],
    seed: 3,
    steps: 8,
    bug: { stores: forgetsClaimed }
  },
  { name: "a compare-and-set that does not compare", laws: [1], seed: 11, steps: 8, bug: { stores: lastSaveWins } },
  {
    name: "a store that forgets to which life of a grant a token belongs",
    laws: [2],
    seed: 4,
    steps: 8,
    bug: { stores: forgetsLives }
  },
  { name: "a suspended application that goes on", laws: [14], seed: 1, steps: 8, bug: { stores: goesOn } },
  { name: "a pause that is not saved", laws: [14], seed: 33, steps: 8, bug: { stores: neverPauses } },
  { name: "an erasure that revokes only one grant", laws: [2, 4], seed: 12, steps: 8, bug: { stores: revokesOnce } },
  { name: "a worker that attempts past its lease", laws: [5], seed: 53, steps: 8, bug: { worker: staysPastItsLease } }
]

/** Number of seeds of a search. The first one shows the bug, unless operations were added or removed since. */
const seeds = 60

/** The first seed that shows the bug breaks one of the named laws. */
export const expectShown = ({ bug, laws, seed }: Bug) =>
  Effect.gen(function*() {
    for (let next = seed; next < seed + seeds; next++) {
      const { violation } = yield* Simulation.run({ ...size, ...bug, seed: next })
      if (violation !== undefined) return expect(laws, violation.message).toContain(violation.law)
    }
    assert.fail(`not found in ${seeds} seeds from ${seed}`)
  })

/** As `expectShown`, and the counterexample is short. */
export const expectFound = ({ bug, laws, seed, steps }: Bug) =>
  Effect.gen(function*() {
    const found = yield* Effect.either(Simulation.check({ ...size, ...bug, from: seed, seeds }))
    if (Either.isRight(found)) return assert.fail(`not found in ${seeds} seeds from ${seed}`)
    const { outcome, counterexample } = found.left
    expect(laws, counterexample).toContain(outcome.violation?.law)
    expect(outcome.steps.length, counterexample).toBeLessThanOrEqual(steps)
    expect(counterexample).toContain(`law ${outcome.violation?.law} does not hold`)
  })
