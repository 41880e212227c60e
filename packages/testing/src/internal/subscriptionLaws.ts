/** Laws of the subscription store. */
import { Delivery } from "@startlist/core/Delivery"
import { Audience } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { clearQueue } from "./clearQueue.ts"
import { count, holds, race, same, tagOf } from "./expecting.ts"
import { at, ended, make, start } from "./fixture.ts"

const signingSecrets = FastCheck.array(
  FastCheck.record({
    value: Arbitraries.nonEmptyText().map(Redacted.make),
    expiresAt: Arbitraries.option(Arbitraries.instant)
  }),
  { minLength: 1, maxLength: 2 }
)

export const subscriptionLaws: LawGroup<Stores> = {
  about: "subscriptions",
  laws: [
    law(
      "a subscription is found as it was inserted, at version 1, and as it was last saved",
      () =>
        Effect.gen(function*() {
          const { application, subscriptions } = yield* make
          const given = FastCheck.record({
            callbackUrl: Arbitraries.nonEmptyText(255),
            createdAt: Arbitraries.instant,
            updatedAt: Arbitraries.instant,
            signingSecrets
          })
          yield* forAll(FastCheck.tuple(given, given), ([fields, changed]) =>
            Effect.gen(function*() {
              const { id: applicationId } = yield* application()
              same(yield* subscriptions.findByApplication(applicationId), Option.none())
              const inserted = yield* subscriptions.insert({ ...fields, applicationId })
              same(inserted, { ...fields, applicationId, id: inserted.id, version: 1 })
              same(yield* subscriptions.findByApplication(applicationId), inserted)
              const { createdAt } = fields
              const next = Subscription.make({ ...inserted, ...changed, createdAt, version: 2 })
              yield* subscriptions.save(next)
              same(yield* subscriptions.findByApplication(applicationId), next)
            }), { numRuns: 25 })
        })
    ),
    law("an application has at most one subscription", () =>
      Effect.gen(function*() {
        const { application, subscription, subscriptions } = yield* make
        const app = yield* application()
        const first = yield* subscription(app)
        same(yield* tagOf(subscription(app)), "AlreadySubscribed")
        same(yield* subscriptions.findByApplication(app.id), first)
        yield* subscription(yield* application())
      })),
    law("of parallel inserts for one application exactly one succeeds", () =>
      Effect.gen(function*() {
        const { application, subscription } = yield* make
        const app = yield* application()
        const results = yield* race(Array.from({ length: 8 }, () => subscription(app)))
        same(count(results, "success"), 1)
        same(count(results, "AlreadySubscribed"), 7)
      })),
    law("a save is accepted over the version before it and no other", () =>
      Effect.gen(function*() {
        const { subscribed, subscriptions } = yield* make
        const { app, subscription } = yield* subscribed
        const save = (version: number) =>
          subscriptions.save(Subscription.make({ ...subscription, version, updatedAt: at(version) }))
        yield* save(2)
        same(yield* tagOf(save(2)), "Conflict", "a stale version")
        same(yield* tagOf(save(4)), "Conflict", "a skipped version")
        same(yield* subscriptions.findByApplication(app.id), { ...subscription, version: 2, updatedAt: at(2) })
      })),
    law("of parallel saves of one version exactly one succeeds", () =>
      Effect.gen(function*() {
        const { subscribed, subscriptions } = yield* make
        const { app, subscription } = yield* subscribed
        const results = yield* race(Array.from({ length: 8 }, (_, index) =>
          subscriptions.save(Subscription.make({ ...subscription, version: 2, updatedAt: at(index) }))))
        same(count(results, "success"), 1)
        const kept = yield* subscriptions.findByApplication(app.id)
        same(
          Option.map(kept, ({ updatedAt }) =>
            updatedAt),
          at(results.indexOf("success"))
        )
      })),
    law("a removed subscription is gone: not found, not removed again, not saved again", () =>
      Effect.gen(function*() {
        const { subscribed, subscriptions } = yield* make
        const { app, subscription } = yield* subscribed
        same(yield* subscriptions.remove(subscription.id, start), true)
        same(yield* subscriptions.findByApplication(app.id), Option.none())
        same(yield* subscriptions.remove(subscription.id, start), false)
        for (const version of [1, 2]) {
          same(yield* tagOf(subscriptions.save(Subscription.make({ ...subscription, version }))), "Conflict")
        }
        same(yield* subscriptions.findByApplication(app.id), Option.none())
        same(yield* subscriptions.remove(SubscriptionId.make(maxId), start), false)
      })),
    law("an identifier is never used twice, not even after a removal", () =>
      Effect.gen(function*() {
        const { application, subscription, subscriptions } = yield* make
        const app = yield* application()
        const ids = new Set<SubscriptionId>()
        for (let n = 0; n < 5; n++) {
          const { id } = yield* subscription(app)
          holds(!ids.has(id), `identifier ${id} is a new one`)
          ids.add(id)
          yield* subscriptions.remove(id, start)
        }
      })),
    law(
      "a removal cancels the pending deliveries with it, claimed ones too, and no others",
      () =>
        Effect.gen(function*() {
          const { app, claimed, deliveries, done, f, subscription } = yield* threeDeliveries
          same(yield* f.subscriptions.remove(subscription.id, at(7)), true)
          const cancelled = (delivery: Delivery) =>
            Delivery.make({ ...delivery, state: "cancelled", endedAt: Option.some(at(7)) })
          const [, second, third] = deliveries
          same(yield* f.listed(app), [done, ...[second, third].flatMap((one) => one ? [cancelled(one)] : [])])
          const settlement = { delivery: ended(claimed.delivery), token: claimed.token }
          same(yield* f.deliveries.settle([settlement]), [], "a cancelled claim")
          same(yield* f.deliveries.find(claimed.delivery.id), cancelled(claimed.delivery))
          same(yield* f.claim({ now: at(10_000), leaseEnds: at(10_015) }), [])
        })
    ),
    law("a new subscription never gets old events, and other applications keep theirs", () =>
      Effect.gen(function*() {
        yield* clearQueue
        const { claim, event, queue, subscribed, subscription: subscribe, subscriptions } = yield* make
        const one = yield* subscribed
        const two = yield* subscribed
        yield* queue(one.app, [event(1), event(2)])
        yield* queue(two.app, [event(3)])
        yield* subscriptions.remove(one.subscription.id, start)
        yield* subscribe(one.app)
        const claimed = yield* claim({ now: at(10), leaseEnds: at(25) })
        same(claimed.map(({ delivery }) => delivery.event.objectId), [3])
      })),
    law("a save that races a removal leaves nothing pending behind it", () =>
      Effect.gen(function*() {
        const { change, event, listed, registration, subscribed, subscriptions, user } = yield* make
        const athlete = yield* user()
        for (let round = 0; round < 12; round++) {
          const { app, subscription } = yield* subscribed
          const first = yield* registration(athlete)
          const save = change(first, [{
            event: event(first.id),
            audience: Audience.Application({ applicationId: app.id })
          }])
          const remove = subscriptions.remove(subscription.id, at(1))
          const contenders = [Effect.asVoid(save), Effect.asVoid(remove)]
          same(yield* race(round % 2 === 0 ? contenders : contenders.reverse()), ["success", "success"])
          const states = (yield* listed(app)).map(({ state }) => state)
          same(states.filter((state) => state !== "cancelled"), [])
        }
      }))
  ]
}

/** A subscription with one delivered, one claimed and one waiting delivery. */
const threeDeliveries = Effect.gen(function*() {
  yield* clearQueue
  const f = yield* make
  const { app, subscription } = yield* f.subscribed
  yield* f.queue(app, [f.event(1), f.event(2), f.event(2)])
  const [first, second] = yield* f.claim()
  if (first === undefined || second === undefined) return yield* Effect.dieMessage("two deliveries must be claimable")
  const done = ended(first.delivery)
  yield* f.deliveries.settle([{ delivery: done, token: first.token }])
  return { app, claimed: second, deliveries: yield* f.listed(app), done, f, subscription }
})
