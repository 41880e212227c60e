/** Laws of the delivery store: settling, listing, delivering again, purging. */
import { expect } from "@effect/vitest"
import { type Attempt, type Claimed, Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import type { Stores } from "@startlist/core/Memory"
import { maxId } from "@startlist/core/Store"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, clearQueue, ended, make, start } from "./fixture.ts"

/** A fixture with `count` claimed deliveries of one subscription. */
const claimedDeliveries = (count: number) =>
  Effect.gen(function*() {
    yield* clearQueue
    const f = yield* make
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, Array.from({ length: count }, (_, index) => f.event(index + 1)))
    return { app, claimed: yield* f.claim(), f, subscription }
  })

const settled = ({ delivery, token }: Claimed) => ({ delivery: ended(delivery), token })

const settles: LawGroup<Stores> = {
  about: "settlements",
  laws: [
    law("an attempt is recorded as it was, every field", () =>
      Effect.gen(function*() {
        const { f } = yield* claimedDeliveries(0)
        const { app } = yield* f.subscribed
        const outcome = FastCheck.record({
          attempts: FastCheck.array(Arbitraries.attempt, { maxLength: 3 }),
          state: FastCheck.constantFrom<"delivered" | "exhausted">("delivered", "exhausted"),
          endedAt: Arbitraries.instant.map(Option.some)
        })
        yield* forAll(outcome, (fields) =>
          Effect.gen(function*() {
            yield* f.queue(app, [f.event(1)])
            const [claimed] = yield* f.claim()
            if (claimed === undefined) return yield* Effect.dieMessage("nothing was claimed")
            const { id } = claimed.delivery
            const delivery = new Delivery({ ...claimed.delivery, ...fields })
            expect(yield* f.deliveries.settle([{ delivery, token: claimed.token }])).toStrictEqual([id])
            same(yield* f.deliveries.find(id), delivery)
          }), { numRuns: 30 })
      })),
    law(
      "a settlement ends the claim: a failed attempt is claimed again as soon as it is due",
      () =>
        Effect.gen(function*() {
          const { claimed, f } = yield* claimedDeliveries(1)
          const [first] = claimed
          if (first === undefined) return yield* Effect.dieMessage("nothing was claimed")
          const failed = new Delivery({ ...first.delivery, dueAt: at(5) })
          yield* f.deliveries.settle([{ delivery: failed, token: first.token }])
          same(yield* f.claim({ now: at(4), leaseEnds: at(19) }), [])
          same((yield* f.claim({ now: at(5), leaseEnds: at(20) })).map(({ delivery }) => delivery), [failed])
        })
    ),
    law("a settlement with another token is left out", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(1)
        const wrong = claimed.map((one) => ({ ...settled(one), token: "of another worker" }))
        expect(yield* f.deliveries.settle(wrong)).toStrictEqual([])
        same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
        expect(yield* f.deliveries.settle(claimed.map(settled))).toHaveLength(1)
      })),
    law(
      "a settlement is left out once the lease went to another worker, and the new owner's is recorded",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f } = yield* claimedDeliveries(1)
          const later = yield* f.claim({ now: at(15), leaseEnds: at(30) })
          expect(yield* f.deliveries.settle(claimed.map(settled))).toStrictEqual([])
          same(yield* f.listed(app), claimed.map(({ delivery }) => delivery))
          expect(yield* f.deliveries.settle(later.map(settled))).toStrictEqual(later.map(({ delivery }) => delivery.id))
        })
    ),
    law("a settlement after the lease is recorded if nobody else has claimed since", () =>
      Effect.gen(function*() {
        const { claimed, f } = yield* claimedDeliveries(1)
        yield* f.claim({ now: at(14), leaseEnds: at(29) })
        expect(yield* f.deliveries.settle(claimed.map(settled))).toHaveLength(1)
      })),
    law("a settlement is recorded once", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(1)
        const failed = claimed.map(({ delivery, token }) => ({
          delivery: new Delivery({ ...delivery, dueAt: at(5) }),
          token
        }))
        expect(yield* f.deliveries.settle(failed)).toHaveLength(1)
        expect(yield* f.deliveries.settle(claimed.map(settled))).toStrictEqual([])
        same((yield* f.listed(app)).map(({ state }) => state), ["pending"])
      })),
    law("of a mixed batch exactly the rows whose claims hold are recorded", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(6)
        yield* f.deliveries.settle(claimed.slice(0, 1).map(settled))
        const unknown = claimed.slice(5).map(({ delivery, token }) => ({
          delivery: new Delivery({ ...ended(delivery), id: DeliveryId.make(maxId) }),
          token
        }))
        const batch = claimed.slice(0, 5).map((one, index) =>
          index % 2 === 0 ? settled(one) : { ...settled(one), token: "of another worker" }
        )
        const recorded = yield* f.deliveries.settle([...batch, ...unknown])
        const ids = claimed.map(({ delivery }) => delivery.id)
        expect([...recorded].sort((a, b) => a - b)).toStrictEqual([ids[2], ids[4]])
        expect((yield* f.listed(app)).map(({ state }) => state)).toStrictEqual([
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
          delivery: new Delivery({ ...delivery, dueAt: at(5) }),
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
        expect(results[0].flat()).toHaveLength(24)
        const rest = yield* f.claim({ now: at(6), leaseEnds: at(21) })
        const again = [...results.slice(1).flat(), rest].flat().flatMap((one) =>
          typeof one === "object" && "delivery" in one ? [one.delivery.id] : []
        )
        expect(again.sort((a, b) => a - b)).toStrictEqual(half.map(({ delivery }) => delivery.id))
        expect((yield* f.listed(app)).filter(({ state }) => state === "delivered")).toHaveLength(12)
      }))
  ]
}

const lists: LawGroup<Stores> = {
  about: "lists of deliveries",
  laws: [
    law("a list is newest first, by application and state, page by page", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(5)
        yield* f.queue((yield* f.subscribed).app, [f.event(1)])
        yield* f.deliveries.settle(claimed.slice(1, 3).map(settled))
        const ids = claimed.map(({ delivery }) => delivery.id).reverse()
        const list = (limit: number, after: Option.Option<DeliveryId>, state: Option.Option<State> = Option.none()) =>
          Effect.map(
            f.deliveries.list({ applicationId: Option.some(app.id), state, after, limit }),
            (found) => found.map(({ id }) => id)
          )
        expect(yield* list(10, Option.none())).toStrictEqual(ids)
        expect(yield* list(2, Option.none())).toStrictEqual(ids.slice(0, 2))
        expect(yield* list(2, Option.fromNullable(ids[1]))).toStrictEqual(ids.slice(2, 4))
        expect(yield* list(9, Option.none(), Option.some("delivered"))).toStrictEqual([ids[2], ids[3]])
        expect(yield* list(9, Option.fromNullable(ids[2]), Option.some("delivered"))).toStrictEqual([ids[3]])
        expect(yield* list(9, Option.none(), Option.some("exhausted"))).toStrictEqual([])
        const all = yield* f.deliveries.list({
          applicationId: Option.none(),
          state: Option.none(),
          after: Option.none(),
          limit: 6
        })
        const found = all.map(({ id }) => id)
        expect(found).toStrictEqual([...found].sort((a, b) => b - a))
        expect(found.slice(1)).toStrictEqual(ids)
      })),
    law("an unknown delivery is not found", () =>
      Effect.gen(function*() {
        const { deliveries } = yield* make
        same(yield* deliveries.find(DeliveryId.make(maxId)), Option.none())
      })),
    law("wake-ups can be listened to and let go", () =>
      Effect.gen(function*() {
        const { deliveries, event, queue, subscribed } = yield* make
        const listening = yield* Effect.fork(Stream.runDrain(deliveries.wakeUps))
        yield* queue((yield* subscribed).app, [event(1)])
        yield* Fiber.interrupt(listening)
      }))
  ]
}

const hours: LawGroup<Stores> = {
  about: "attempts by hour",
  laws: [
    law(
      "attempts are counted in the hours since the start, of one application, delivered and failed apart",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f } = yield* claimedDeliveries(5)
          const other = yield* f.subscribed
          yield* f.queue(other.app, [f.event(1)])
          const attempt = (seconds: number, outcome: Attempt["outcome"], durationMs: number): Attempt => ({
            at: at(seconds),
            durationMs,
            outcome,
            status: Option.none(),
            detail: ""
          })
          const attempts = [
            [attempt(-1, "delivered", 9)],
            [attempt(0, "timeout", 2000), attempt(5, "rejected", 3), attempt(3599, "delivered", 40)],
            [attempt(60, "delivered", 10)],
            [attempt(61, "delivered", 20), attempt(62, "delivered", 30)],
            [attempt(7200, "unreachable", 1)]
          ]
          yield* f.deliveries.settle(claimed.map(({ delivery, token }, index) => ({
            delivery: new Delivery({ ...ended(delivery), attempts: attempts[index] ?? [] }),
            token
          })))
          const since = (limit: number) => f.deliveries.attemptsByHour({ applicationId: app.id, from: start, limit })
          const last = { startsAt: at(7200), delivered: 0, failed: 1, latency: Option.none() }
          same(yield* since(100), [
            { startsAt: start, delivered: 4, failed: 2, latency: Option.some({ medianMs: 20, slowestMs: 40 }) },
            last
          ])
          same(yield* since(1), [last])
          same(yield* f.deliveries.attemptsByHour({ applicationId: other.app.id, from: start, limit: 9 }), [])
        })
    ),
    law("pending deliveries count with the attempts that they had", () =>
      Effect.gen(function*() {
        const { app, claimed, f } = yield* claimedDeliveries(1)
        const failed = { at: at(1), durationMs: 2, outcome: "rejected", status: Option.some(500), detail: "" } as const
        yield* f.deliveries.settle(claimed.map(({ delivery, token }) => ({
          delivery: new Delivery({ ...delivery, attempts: [failed], dueAt: at(6) }),
          token
        })))
        same(yield* f.deliveries.attemptsByHour({ applicationId: app.id, from: start, limit: 9 }), [
          { startsAt: start, delivered: 0, failed: 1, latency: Option.none() }
        ])
      }))
  ]
}

const repeats: LawGroup<Stores> = {
  about: "delivering again",
  laws: [
    law(
      "a delivery again is a new one of the same event, pending, due now, without attempts",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f } = yield* claimedDeliveries(1)
          const [first] = claimed
          if (first === undefined) return yield* Effect.dieMessage("nothing was claimed")
          const original = ended(first.delivery, "exhausted")
          yield* f.deliveries.settle([{ delivery: original, token: first.token }])
          const again = Option.getOrThrow(yield* f.deliveries.again(original, at(99)))
          expect(again.id).toBeGreaterThan(original.id)
          const fresh = { state: "pending", attempts: [], dueAt: at(99), endedAt: Option.none() }
          same(again, { ...original, ...fresh, id: again.id })
          same(yield* f.listed(app), [original, again])
          same(yield* f.claim({ now: at(98), leaseEnds: at(113) }), [])
          same((yield* f.claim({ now: at(99), leaseEnds: at(114) })).map(({ delivery }) => delivery), [again])
        })
    ),
    law(
      "what went to a removed subscription is not delivered again, not even to the next one",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f, subscription } = yield* claimedDeliveries(1)
          yield* f.deliveries.settle(claimed.map(settled))
          yield* f.subscriptions.remove(subscription.id, start)
          yield* f.subscription(app)
          const [original] = yield* f.listed(app)
          if (original === undefined) return yield* Effect.dieMessage("the record is gone")
          same(yield* f.deliveries.again(original, start), Option.none())
          same(yield* f.listed(app), [original])
        })
    )
  ]
}

/** Long before anything else happens. */
const long = (seconds: number) => DateTime.subtract(start, { days: 20_000, seconds: -seconds })

const purges: LawGroup<Stores> = {
  about: "purges of deliveries",
  laws: [
    law(
      "a purge removes what ended by its cutoff, at most its limit, and never a pending delivery",
      () =>
        Effect.gen(function*() {
          const { app, claimed, f } = yield* claimedDeliveries(7)
          const { deliveries } = f
          yield* Effect.repeat(deliveries.purge(long(100), 1000), { until: (count) => count === 0 })
          const endings = [30, 10, 20, 15, 11, 12]
          yield* deliveries.settle(
            claimed.slice(0, 6).map(({ delivery, token }, index) => ({
              delivery: ended(delivery, index % 2 === 0 ? "delivered" : "exhausted", long(endings[index] ?? 0)),
              token
            }))
          )
          const left = Effect.map(f.listed(app), (found) => found.map(({ event }) => event.objectId))
          expect(yield* deliveries.purge(long(12), 100)).toBe(3)
          expect(yield* left).toStrictEqual([1, 3, 4, 7])
          expect(yield* deliveries.purge(long(50), 2)).toBe(2)
          expect(yield* left).toHaveLength(2)
          expect(yield* deliveries.purge(long(50), 2)).toBe(1)
          expect(yield* deliveries.purge(long(50), 2)).toBe(0)
          expect(yield* left).toStrictEqual([7])
        })
    ),
    law("cancelled deliveries are purged too", () =>
      Effect.gen(function*() {
        const { app, f, subscription } = yield* claimedDeliveries(2)
        yield* Effect.repeat(f.deliveries.purge(long(100), 1000), { until: (count) => count === 0 })
        yield* f.subscriptions.remove(subscription.id, long(1))
        expect(yield* f.deliveries.purge(long(0), 10)).toBe(0)
        expect(yield* f.deliveries.purge(long(1), 10)).toBe(2)
        same(yield* f.listed(app), [])
      }))
  ]
}

export const deliveryLaws: ReadonlyArray<LawGroup<Stores>> = [settles, lists, hours, repeats, purges]
