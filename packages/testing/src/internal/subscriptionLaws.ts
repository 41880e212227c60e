/** Laws of the subscription store. */
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { holds, same, tagOf } from "./expecting.ts"
import { at, start, timedOut } from "./fixture.ts"
import { forEach, queueLaw, storeLaw } from "./storeLaw.ts"

const fields = FastCheck.record({
  callbackUrl: Arbitraries.nonEmptyText(255),
  createdAt: Arbitraries.instant,
  updatedAt: Arbitraries.instant
})

export const subscriptionLaws: LawGroup<Stores> = {
  about: "subscriptions",
  laws: [
    storeLaw("a subscription is found as it was inserted, at version 1, and as it was last saved", function*(f) {
      const { subscriptions } = f
      yield* forEach(FastCheck.tuple(fields, fields, FastCheck.boolean()), 25, function*([given, changed, paused]) {
        const { id: applicationId } = yield* f.application()
        same(yield* subscriptions.findByApplication(applicationId), Option.none())
        const inserted = yield* subscriptions.insert({ ...given, applicationId })
        same(inserted, { ...given, applicationId, id: inserted.id, version: 1, paused: false })
        same(yield* subscriptions.findByApplication(applicationId), inserted)
        const next = { ...inserted, ...changed, createdAt: given.createdAt, paused, version: 2 }
        yield* subscriptions.save(next)
        same(yield* tagOf(subscriptions.save(next)), "Conflict", "the same save again")
        same(yield* subscriptions.findByApplication(applicationId), next)
        const touched = { ...next, updatedAt: given.updatedAt, paused: !paused, version: 3 }
        yield* subscriptions.save(touched)
        same(yield* subscriptions.findByApplication(applicationId), touched, "with the same callback")
      })
    }),
    storeLaw("an application has at most one subscription", function*(f) {
      const app = yield* f.application()
      const first = yield* f.subscription(app)
      same(yield* tagOf(f.subscription(app)), "AlreadySubscribed")
      same(yield* f.subscriptions.findByApplication(app.id), first)
      yield* f.subscription(yield* f.application())
    }),
    storeLaw("a removed subscription is gone: not found, not removed again, not saved again", function*(f) {
      const { app, subscription } = yield* f.subscribed
      same(yield* f.subscriptions.remove(subscription.id, start), true)
      same(yield* f.subscriptions.findByApplication(app.id), Option.none())
      same(yield* f.subscriptions.remove(subscription.id, start), false)
      for (const version of [1, 2]) {
        same(yield* tagOf(f.subscriptions.save({ ...subscription, version })), "Conflict")
      }
      same(yield* f.subscriptions.findByApplication(app.id), Option.none())
      same(yield* f.subscriptions.remove(SubscriptionId.make(maxId), start), false)
    }),
    storeLaw("an identifier is never used twice, not even after a removal", function*(f) {
      const app = yield* f.application()
      const ids = new Set<SubscriptionId>()
      for (let n = 0; n < 5; n++) {
        const subscription = yield* f.subscription(app)
        const { id } = subscription
        holds(!ids.has(id), `identifier ${id} is a new one`)
        ids.add(id)
        same(yield* f.subscriptions.findByApplication(app.id), subscription)
        yield* f.subscriptions.remove(id, start)
        same(yield* f.subscriptions.findByApplication(app.id), Option.none())
      }
    }),
    queueLaw("a removal cancels the pending deliveries with it, claimed ones too, and no others", function*(f) {
      const { app, claimed: firsts, subscription } = yield* f.claimedDeliveries(2)
      yield* f.queue(app, [f.event(2)])
      yield* f.settle(firsts.slice(0, 1))
      const failed = timedOut(start)
      yield* f.settle(firsts.slice(1), { attempts: [failed], dueAt: at(1) })
      const claimed = yield* f.claimAt(1)
      const [done, ...pending] = yield* f.listed(app)
      same(yield* f.subscriptions.remove(subscription.id, at(7)), true)
      const cancelled = pending.map((one) => ({ ...one, state: "cancelled", endedAt: Option.some(at(7)) }))
      same(yield* f.listed(app), [done, ...cancelled])
      same(yield* f.settle(claimed), [], "a cancelled claim")
      for (const one of cancelled) same(yield* f.deliveries.find(one.id), one)
      same(yield* f.claimAt(10_000), [])
    }),
    queueLaw("a new subscription never gets old events, and other applications keep theirs", function*(f) {
      const [one, two] = [yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(one.app, [f.event(1), f.event(2)])
      yield* f.claim({ limit: 1 })
      yield* f.queue(two.app, [f.event(3)])
      yield* f.subscriptions.remove(one.subscription.id, start)
      const next = yield* f.subscription(one.app, "https://app.example.test/next")
      const claim = f.claimAt(20)
      same((yield* claim).map(({ delivery }) => delivery.event.objectId), [3])
      yield* f.queue(one.app, [f.event(4)])
      same((yield* claim).map(({ delivery, subscription }) => [delivery.event.objectId, subscription]), [[4, next]])
    }),
    storeLaw("of events that are queued while their subscription is removed, none stays pending", function*(f) {
      for (let round = 0; round < 6; round++) {
        const { app, subscription } = yield* f.subscribed
        const queueing = f.enqueue(app, f.events(Arr.range(1, 100)))
        const removing = Effect.delay(f.subscriptions.remove(subscription.id, start), round)
        yield* Effect.all([queueing, removing], { concurrency: 2 })
        same((yield* f.listed(app)).filter(({ state }) => state !== "cancelled"), [])
      }
    }),
    storeLaw("identifiers that are given at the same time are different", function*(f) {
      const apps = yield* Effect.all(Array.from({ length: 8 }, () => f.application()), { concurrency: "unbounded" })
      const athlete = yield* f.user()
      const all = { concurrency: "unbounded" } as const
      for (
        const made of [
          apps,
          yield* Effect.forEach(apps, (app) => f.subscription(app), all),
          yield* Effect.forEach(apps, () => f.registration(athlete), all)
        ]
      ) same(new Set(made.map(({ id }) => Number(id))).size, apps.length)
      yield* f.cleanUp
    })
  ]
}
