/** Laws of settlements. */
import { DeliveryId, State } from "@startlist/core/Delivery"
import type { Settlement } from "@startlist/core/DeliveryQueue"
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { same, sorted } from "./expecting.ts"
import { at, objectsOf, settled, start } from "./fixture.ts"
import { forEach, queueLaw } from "./storeLaw.ts"

const byOther = (settlements: ReadonlyArray<Settlement>) =>
  settlements.map(({ delivery }) => ({ delivery, token: "of another worker" }))

const attempts = FastCheck.array(Arbitraries.attempt, { maxLength: 3 })

export const settleLaws: LawGroup<Stores> = {
  about: "settlements",
  laws: [
    queueLaw("an attempt is recorded with every field", function*(f) {
      const { app } = yield* f.subscribed
      const outcome = FastCheck.record({
        attempts,
        state: FastCheck.constantFrom(...State.literals.filter((state) => state !== "pending")),
        endedAt: Arbitraries.instant.map(Option.some)
      })
      yield* forEach(outcome, 30, function*(fields) {
        yield* f.queue(app, [f.event(1)])
        for (const claimed of yield* f.claim()) {
          same(yield* f.settle([claimed], fields), [claimed.delivery.id])
          same(yield* f.deliveries.find(claimed.delivery.id), { ...claimed.delivery, ...fields })
        }
        same((yield* f.listed(app)).filter(({ state }) => state === "pending"), [])
      })
    }),
    queueLaw("a failed delivery is recorded with its attempts and its due time", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const retry = FastCheck.record({ attempts, dueAt: Arbitraries.instant })
      yield* forEach(FastCheck.tuple(retry, FastCheck.nat()), 20, function*([fields, object]) {
        yield* f.queue(app, [f.event(object + 1)])
        const retried = settled(yield* f.claim(), fields)
        yield* f.deliveryQueue.settle(retried)
        const [delivery] = retried.map(({ delivery }) => delivery)
        same(delivery && (yield* f.deliveries.find(delivery.id)), delivery)
        const claimed = yield* f.claim({ now: fields.dueAt, leaseEnds: DateTime.add(fields.dueAt, { seconds: 15 }) })
        // Other laws may have queued events that are due later.
        const again = claimed.filter((one) => one.subscription.id === subscription.id)
        same(again.map((one) => one.delivery), [delivery], "what is claimed when it is due")
        yield* f.settle(again)
      })
    }),
    queueLaw("a settlement ends the claim: a failed attempt is claimed again as soon as it is due", function*(f) {
      const { claimed } = yield* f.claimedDeliveries(1)
      const failed = settled(claimed, { dueAt: at(5) })
      yield* f.deliveryQueue.settle(failed)
      same(yield* f.claimAt(4), [])
      const again = yield* f.claimAt(5)
      same(again.map(({ delivery }) => delivery), failed.map(({ delivery }) => delivery))
    }),
    queueLaw("a settlement with another token is left out", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(1)
      same(yield* f.deliveryQueue.settle(byOther(settled(claimed))), [])
      const otherCase = claimed.map(({ delivery, token }) => ({ delivery, token: token.toUpperCase() }))
      same(yield* f.settle(otherCase), [])
      same(yield* f.deliveryQueue.release(otherCase, start), [])
      same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
      same((yield* f.settle(claimed)).length, 1)
    }),
    queueLaw(
      "once another worker has claimed a delivery, only the settlement of that worker is recorded",
      function*(f) {
        const { app, claimed } = yield* f.claimedDeliveries(1)
        const later = yield* f.claimAt(15)
        same(yield* f.settle(claimed), [])
        same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
        same(yield* f.settle(later), later.map(({ delivery }) => delivery.id))
      }
    ),
    queueLaw("a settlement after the lease is recorded if nobody else has claimed since", function*(f) {
      const { claimed } = yield* f.claimedDeliveries(3)
      yield* f.claimAt(14)
      const [taken] = yield* f.claimAt(15, { limit: 1 })
      const others = claimed.map(({ delivery }) => delivery.id).filter((id) => id !== taken?.delivery.id)
      const recorded = yield* f.settle(claimed)
      same(sorted(recorded), others)
    }),
    queueLaw("a settlement is recorded once", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(1)
      const once = settled(claimed, { dueAt: at(5) })
      same((yield* f.deliveryQueue.settle([...once, ...once])).length, 1, "twice in one batch")
      same(yield* f.settle(claimed), [])
      same((yield* f.listed(app)).map(({ state }) => state), ["pending"])
    }),
    queueLaw("of a mixed batch exactly the rows whose claims hold are recorded", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(6)
      yield* f.settle(claimed.slice(0, 1))
      const isRecorded = (_: unknown, index: number) => index % 2 === 0
      const batch = settled(claimed.slice(0, 5))
      const recorded = yield* f.deliveryQueue.settle([
        ...batch.filter(isRecorded),
        ...byOther(batch.filter((_, index) => index % 2 === 1)),
        ...settled(claimed.slice(5), { id: DeliveryId.make(maxId) })
      ])
      const ids = claimed.map(({ delivery }) => delivery.id)
      same(sorted(recorded), [ids[2], ids[4]])
      const states = claimed.map((one, index) => isRecorded(one, index) ? "delivered" : "pending")
      same((yield* f.listed(app)).map(({ state }) => state), states)
    }),
    queueLaw("each settlement of a batch needs the token of its own delivery", function*(f) {
      const { app, claimed: [first, ...others] } = yield* f.claimedDeliveries(3)
      if (first === undefined) return
      const [later, other] = yield* f.claimAt(15, { limit: 2 })
      yield* f.claimAt(15, { token: "the third" })
      const stale = others.slice(1).map(({ delivery }) => ({ delivery, token: later?.token ?? "" }))
      const batch = settled([...stale, first, ...later ? [later] : []])
      same(yield* f.deliveryQueue.settle(batch), [first.delivery.id])
      same((yield* f.listed(app)).map(({ state }) => state), ["delivered", "pending", "pending"])
      same((yield* f.settle(other ? [other] : [])).length, 1)
    }),
    queueLaw("an empty batch records nothing", function*(f) {
      same(yield* f.deliveryQueue.settle([]), [])
      same(yield* f.deliveryQueue.release([], start), [])
    }),
    queueLaw("an event that is queued while the one before it ends is the next one of its object", function*(f) {
      const { app } = yield* f.subscribed
      const enqueue = f.enqueue(app, f.events([1, 2, 3, 4, 5]))
      yield* enqueue
      for (let round = 0; round < 24; round++) {
        const claimed = yield* f.claimAt(20 * round)
        const objects = objectsOf(claimed)
        same(sorted(objects), [1, 2, 3, 4, 5], `round ${round}`)
        const both = [Effect.asVoid(f.settle(claimed)), Effect.asVoid(enqueue)]
        yield* Effect.all(round % 2 === 0 ? both : both.reverse(), { concurrency: 2 })
      }
    }),
    queueLaw(
      "an event that is queued while those before it are cancelled is delivered, or cancelled too",
      function*(f) {
        const { app } = yield* f.subscribed
        const enqueue = f.enqueue(app, f.events([1, 2, 3, 4, 5]))
        for (let round = 0; round < 24; round++) {
          yield* enqueue
          const both = [Effect.asVoid(f.deliveryQueue.cancel(app.id, at(1), 1000)), Effect.asVoid(enqueue)]
          yield* Effect.all(round % 2 === 0 ? both : both.reverse(), { concurrency: 2 })
          const pending = (yield* f.listed(app)).filter(({ state }) => state === "pending")
          const claimed = yield* f.claimAt(20 * round)
          const objects = objectsOf(claimed)
          same(new Set(objects), new Set(pending.map(({ event }) => event.objectId)), `round ${round}`)
          yield* f.settle(claimed)
        }
      }
    ),
    ...(["cancellation", "removal"] as const).map((other) =>
      queueLaw(`of a settlement and a ${other} at the same time, each delivery has one`, function*(f) {
        let { app, subscription } = yield* f.subscribed
        const objects = Arr.range(1, 30)
        for (let round = 0; round < 10; round++) {
          yield* f.enqueue(app, f.events(objects))
          const claimed = yield* f.claim()
          const { answer, recorded } = yield* Effect.all({
            recorded: f.settle(claimed),
            answer: other === "removal"
              ? f.subscriptions.remove(subscription.id, at(1))
              : f.deliveryQueue.cancel(app.id, at(1), 1000)
          }, { concurrency: 2 })
          const isRecorded = new Set(recorded)
          const states = claimed.map(({ delivery }) => isRecorded.has(delivery.id) ? "delivered" : "cancelled")
          same((yield* f.listed(app)).slice(-claimed.length).map(({ state }) => state), states, `round ${round}`)
          same(answer, other === "removal" || objects.length - recorded.length, `what the ${other} returns`)
          if (other === "removal") subscription = yield* f.subscription(app)
        }
      })
    ),
    queueLaw("of a settlement and a claim after its lease at the same time, each delivery has one", function*(f) {
      const { app } = yield* f.subscribed
      for (let round = 0; round < 10; round++) {
        yield* f.enqueue(app, f.events(Arr.range(1, 30)))
        const claimed = yield* f.claim()
        const [claim, settle] = [f.claimAt(15), f.settle(claimed)]
        const { recorded, taken } = yield* round % 2 === 0
          ? Effect.all({ taken: claim, recorded: settle }, { concurrency: 2 })
          : Effect.all({ recorded: settle, taken: claim }, { concurrency: 2 })
        // A claim skips what a settlement has locked.
        const all = [...taken, ...yield* claim]
        const ids = claimed.map(({ delivery }) => delivery.id)
        same(sorted([...recorded, ...all.map(({ delivery }) => delivery.id)]), ids, `round ${round}`)
        yield* f.settle(all)
      }
    }),
    queueLaw("parallel settlements and claims lose nothing", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(24)
      const half = claimed.slice(0, 12)
      const settlements = [
        ...half.map((one) => f.settle([one], { dueAt: at(5) })),
        f.settle(claimed.slice(12))
      ]
      const claim = f.claimAt(6)
      const [recorded, claims] = yield* Effect.all([
        Effect.all(settlements, { concurrency: "unbounded" }),
        Effect.all(Array.from({ length: 6 }, () => claim), { concurrency: "unbounded" })
      ], { concurrency: "unbounded" })
      same(recorded.flat().length, 24)
      const again = [...claims.flat(), ...yield* claim].map(({ delivery }) => delivery.id)
      same(sorted(again), half.map(({ delivery }) => delivery.id))
      same((yield* f.listed(app)).filter(({ state }) => state === "delivered").length, 12)
    })
  ]
}
