/** Laws of the queue: what a settlement records. */
import { type Claimed, Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { clearQueue } from "./clearQueue.ts"
import { same } from "./expecting.ts"
import { at, ended, make } from "./fixture.ts"

/** A fixture with `count` claimed deliveries of one subscription. */
export const claimedDeliveries = (count: number) =>
  Effect.gen(function*() {
    yield* clearQueue
    const f = yield* make
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, Array.from({ length: count }, (_, index) => f.event(index + 1)))
    return { app, claimed: yield* f.claim(), f, subscription }
  })

export const settled = ({ delivery, token }: Claimed) => ({ delivery: ended(delivery), token })

export const settleLaws: LawGroup<Stores> = {
  about: "settlements",
  laws: [
    law("an attempt is recorded as it was, every field", () =>
      Effect.gen(function*() {
        const { f } = yield* claimedDeliveries(0)
        const { app } = yield* f.subscribed
        const outcome = FastCheck.record({
          attempts: FastCheck.array(Arbitraries.attempt, { maxLength: 3 }),
          state: FastCheck.constantFrom(...State.literals.filter((state) => state !== "pending")),
          endedAt: Arbitraries.instant.map(Option.some)
        })
        yield* forAll(outcome, (fields) =>
          Effect.gen(function*() {
            yield* f.queue(app, [f.event(1)])
            const [claimed] = yield* f.claim()
            if (claimed === undefined) return yield* Effect.dieMessage("nothing was claimed")
            const { id } = claimed.delivery
            const delivery = Delivery.make({ ...claimed.delivery, ...fields })
            same(yield* f.deliveries.settle([{ delivery, token: claimed.token }]), [id])
            same(yield* f.deliveries.find(id), delivery)
          }), { numRuns: 30 })
      })),
    law(
      "what is to be tried again is recorded as it was, with its attempts and when it is due",
      () =>
        Effect.gen(function*() {
          const { f } = yield* claimedDeliveries(0)
          const { app, subscription } = yield* f.subscribed
          const retry = FastCheck.record({
            attempts: FastCheck.array(Arbitraries.attempt, { maxLength: 3 }),
            dueAt: Arbitraries.instant
          })
          yield* forAll(FastCheck.tuple(retry, FastCheck.nat()), ([fields, object]) =>
            Effect.gen(function*() {
              yield* f.queue(app, [f.event(object + 1)])
              const [claimed] = (yield* f.claim()).filter((one) => one.subscription.id === subscription.id)
              if (claimed === undefined) return yield* Effect.dieMessage("nothing was claimed")
              const delivery = Delivery.make({ ...claimed.delivery, ...fields })
              yield* f.deliveries.settle([{ delivery, token: claimed.token }])
              same(yield* f.deliveries.find(delivery.id), Option.some(delivery))
              const again = yield* f.claim({
                now: fields.dueAt,
                leaseEnds: DateTime.add(fields.dueAt, { seconds: 15 })
              })
              const mine = again.filter((one) => one.subscription.id === subscription.id)
              same(mine.map((one) => one.delivery), [delivery], "what is claimed when it is due")
              yield* f.deliveries.settle(mine.map(settled))
            }), { numRuns: 20 })
        })
    ),
    law(
      "a settlement ends the claim: a failed attempt is claimed again as soon as it is due",
      () =>
        Effect.gen(function*() {
          const { claimed, f } = yield* claimedDeliveries(1)
          const [first] = claimed
          if (first === undefined) return yield* Effect.dieMessage("nothing was claimed")
          const failed = Delivery.make({ ...first.delivery, dueAt: at(5) })
          yield* f.deliveries.settle([{ delivery: failed, token: first.token }])
          same(yield* f.claim({ now: at(4), leaseEnds: at(19) }), [])
          same((yield* f.claim({ now: at(5), leaseEnds: at(20) })).map(({ delivery }) => delivery), [failed])
        })
    ),
    law("a settlement with another token is left out", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(1)
        const wrong = claimed.map((one) => ({ ...settled(one), token: "of another worker" }))
        same(yield* f.deliveries.settle(wrong), [])
        same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
        same((yield* f.deliveries.settle(claimed.map(settled))).length, 1)
      })),
    law(
      "a settlement is left out once the lease went to another worker, and the new owner's is recorded",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f } = yield* claimedDeliveries(1)
          const later = yield* f.claim({ now: at(15), leaseEnds: at(30) })
          same(yield* f.deliveries.settle(claimed.map(settled)), [])
          same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
          same(yield* f.deliveries.settle(later.map(settled)), later.map(({ delivery }) => delivery.id))
        })
    ),
    law("a settlement after the lease is recorded if nobody else has claimed since", () =>
      Effect.gen(function*() {
        const { claimed, f } = yield* claimedDeliveries(1)
        yield* f.claim({ now: at(14), leaseEnds: at(29) })
        same((yield* f.deliveries.settle(claimed.map(settled))).length, 1)
      })),
    law("a settlement is recorded once", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(1)
        const failed = claimed.map(({ delivery, token }) => ({
          delivery: Delivery.make({ ...delivery, dueAt: at(5) }),
          token
        }))
        same((yield* f.deliveries.settle(failed)).length, 1)
        same(yield* f.deliveries.settle(claimed.map(settled)), [])
        same((yield* f.listed(app)).map(({ state }) => state), ["pending"])
      })),
    law("of a mixed batch exactly the rows whose claims hold are recorded", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(6)
        yield* f.deliveries.settle(claimed.slice(0, 1).map(settled))
        const unknown = claimed.slice(5).map(({ delivery, token }) => ({
          delivery: Delivery.make({ ...ended(delivery), id: DeliveryId.make(maxId) }),
          token
        }))
        const batch = claimed.slice(0, 5).map((one, index) =>
          index % 2 === 0 ? settled(one) : { ...settled(one), token: "of another worker" }
        )
        const recorded = yield* f.deliveries.settle([...batch, ...unknown])
        const ids = claimed.map(({ delivery }) => delivery.id)
        same([...recorded].sort((a, b) => a - b), [ids[2], ids[4]])
        same((yield* f.listed(app)).map(({ state }) => state), [
          "delivered",
          "pending",
          "delivered",
          "pending",
          "delivered",
          "pending"
        ])
      })),
    law(
      "an empty batch records nothing",
      () => Effect.flatMap(make, ({ deliveries }) => Effect.map(deliveries.settle([]), (ids) => same(ids, [])))
    ),
    law("parallel settlements and claims lose nothing", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(24)
        const half = claimed.slice(0, 12)
        const retried = half.map(({ delivery, token }) => ({
          delivery: Delivery.make({ ...delivery, dueAt: at(5) }),
          token
        }))
        const settlements = [
          ...retried.map((one) => f.deliveries.settle([one])),
          f.deliveries.settle(claimed.slice(12).map(settled))
        ]
        const claims = Array.from({ length: 6 }, () => f.claim({ now: at(6), leaseEnds: at(21) }))
        const results = yield* Effect.all([Effect.all(settlements, { concurrency: "unbounded" }), ...claims], {
          concurrency: "unbounded"
        })
        same(results[0].flat().length, 24)
        const rest = yield* f.claim({ now: at(6), leaseEnds: at(21) })
        const again = [...results.slice(1).flat(), rest].flat().flatMap((one) =>
          typeof one === "object" && "delivery" in one ? [one.delivery.id] : []
        )
        same(again.sort((a, b) => a - b), half.map(({ delivery }) => delivery.id))
        same((yield* f.listed(app)).filter(({ state }) => state === "delivered").length, 12)
      }))
  ]
}
