/** Laws of the delivery store: listing, counting, delivering again, purging. */
import { type Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import { emptyUpdates } from "@startlist/core/Registration"
import type { Stores } from "@startlist/core/Stores"
import { maxId } from "@startlist/core/Store"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type LawGroup } from "../Law.ts"
import { queueLaw } from "./storeLaw.ts"
import { holds, same } from "./expecting.ts"
import { at, ended, start, timedOut } from "./fixture.ts"

const lists: LawGroup<Stores> = {
  about: "lists of deliveries",
  laws: [
    queueLaw("a list is newest first, by application and state, page by page", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(5)
      const { app: other } = yield* f.subscribed
      yield* f.queue(other, [f.event(1)])
      yield* f.settle(claimed.slice(1, 3))
      const ids = claimed.map(({ delivery }) => delivery.id).reverse()
      const list = (limit: number, after: Option.Option<DeliveryId>, state: Option.Option<State> = Option.none()) =>
        Effect.map(
          f.deliveries.list({ applicationId: Option.some(app.id), state, after, limit }),
          (found) => found.map(({ id }) => id)
        )
      same(yield* list(10, Option.none()), ids)
      same(yield* list(2, Option.none()), ids.slice(0, 2))
      same(yield* list(2, Option.fromNullable(ids[1])), ids.slice(2, 4))
      same(yield* list(9, Option.none(), Option.some("delivered")), [ids[2], ids[3]])
      same(yield* list(9, Option.fromNullable(ids[2]), Option.some("delivered")), [ids[3]])
      same(yield* list(9, Option.fromNullable(ids[2]), Option.some("pending")), [ids[4]], "after one in another state")
      const [last] = yield* f.listed(other)
      same(yield* list(2, Option.fromNullable(last?.id)), ids.slice(0, 2), "after one of another application")
      same(yield* list(2, Option.some(DeliveryId.make(maxId))), ids.slice(0, 2), "after one that is not there")
      same(yield* list(9, Option.none(), Option.some("exhausted")), [])
      same(yield* list(9, Option.none(), Option.some("pending")), [ids[0], ids[1], ids[4]], "claimed ones, too")
      yield* f.settle(claimed.slice(0, 1), { state: "set_aside", endedAt: Option.some(start) })
      same(yield* list(9, Option.none(), Option.some("set_aside")), [ids[4]])
      const all = yield* f.deliveries.list({
        applicationId: Option.none(),
        state: Option.none(),
        after: Option.none(),
        limit: 6
      })
      const found = all.map(({ id }) => id)
      same(found, [...found].sort((a, b) => b - a))
      same(found.slice(1), ids)
    }),
    queueLaw("an unknown delivery is not found", function*(f) {
      same(yield* f.deliveries.find(DeliveryId.make(maxId)), Option.none())
    }),
    queueLaw(
      "a wake-up that reaches one listener reaches the others, even if one is busy, and one has ended",
      function*(f) {
        const { app } = yield* f.subscribed
        const heard = [0, 0, 0, 0]
        const busy = yield* Effect.fork(Stream.runForEach(f.deliveryQueue.wakeUps, () => Effect.never))
        const listeners = yield* Effect.forEach(
          heard,
          (_, place) =>
            Effect.fork(
              Stream.runForEach(
                f.deliveryQueue.wakeUps,
                () => Effect.sync(() => void heard.splice(place, 1, (heard[place] ?? 0) + 1))
              )
            )
        )
        yield* Effect.sleep(20)
        // Hints may be lost, and a store may have none.
        let byAll = 0
        for (let round = 0; round < 8; round++) {
          if (round === 4) yield* Effect.forEach(listeners.splice(-1), (one) => Fiber.interrupt(one))
          const before = [...heard]
          const areHeard = () => listeners.every((_, place) => (heard[place] ?? 0) > (before[place] ?? 0))
          yield* f.queue(app, [f.event(round + 1)])
          for (let waited = 0; waited < 10 && !areHeard(); waited++) yield* Effect.sleep(5)
          // The first hints also arrive if a busy listener blocks those after them.
          if (round >= 4 && areHeard()) byAll++
        }
        yield* Fiber.interruptAll([busy, ...listeners])
        holds(byAll > 0 || heard.every((count) => count === 0), "all listeners hear of an event")
      }
    ),
    queueLaw("listeners of wake-ups can start and stop", function*(f) {
      const listening = yield* Effect.fork(Stream.runDrain(f.deliveryQueue.wakeUps))
      yield* f.queue((yield* f.subscribed).app, [f.event(1)])
      yield* Fiber.interrupt(listening)
    })
  ]
}

const repeats: LawGroup<Stores> = {
  about: "delivering again",
  laws: [
    ...(["exhausted", "set_aside"] as const).map((state) =>
      queueLaw(
        `a delivery again is a new one of the same event, pending, due now, without attempts (${state})`,
        function*(f) {
          const { app, claimed: [first] } = yield* f.claimedDeliveries(1)
          if (first === undefined) return
          const original = ended(first.delivery, state)
          yield* f.deliveryQueue.settle([{ delivery: original, token: first.token }])
          const again = Option.getOrThrow(yield* f.deliveryQueue.again(original, at(99)))
          holds(again.id > original.id, "the new delivery comes behind the old one")
          const fresh = { state: "pending", attempts: [], dueAt: at(99), endedAt: Option.none() }
          same(again, { ...original, ...fresh, id: again.id })
          same(yield* f.listed(app), [original, again])
          same(yield* f.claimAt(98), [])
          same((yield* f.claimAt(99)).map(({ delivery }) => delivery), [again])
        }
      )
    ),
    queueLaw("pending and claimed deliveries can be delivered again, too", function*(f) {
      const { app, claimed: [retried, ...claimed] } = yield* f.claimedDeliveries(2)
      if (retried === undefined) return
      yield* f.settle([retried], { attempts: [timedOut(start)], dueAt: at(500) })
      yield* f.queue(app, [f.event(3, at(500))])
      const before = yield* f.listed(app)
      const fresh: Array<Delivery> = []
      for (const one of before) fresh.push(Option.getOrThrow(yield* f.deliveryQueue.again(one, at(99))))
      same(yield* f.listed(app), [...before, ...fresh])
      const expected = { state: "pending", attempts: [], dueAt: at(99), endedAt: Option.none() }
      same(fresh, before.map((one, place) => ({ ...one, ...expected, id: fresh[place]?.id })))
      same(yield* f.settle(claimed), claimed.map(({ delivery }) => delivery.id))
      const due = yield* f.claimAt(99)
      same(due.map(({ delivery }) => delivery.id), [fresh[1]?.id], "the next of each object that is due")
    }),
    queueLaw("the stored event is delivered again: it may have changed since the caller has read it", function*(f) {
      const { claimed: [one] } = yield* f.claimedDeliveries(1)
      if (one === undefined) return
      const event = f.event(1, at(3), { updates: { ...emptyUpdates, comment: "another" } })
      const again = yield* f.deliveryQueue.again({ ...one.delivery, event }, at(99))
      same(Option.map(again, ({ event }) => event), Option.some(one.delivery.event))
    }),
    queueLaw("a delivery again has no claims yet, also of a delivery that was cancelled while claimed", function*(f) {
      const { app, claimed: [first] } = yield* f.claimedDeliveries(1)
      if (first === undefined) return
      yield* f.deliveryQueue.cancel(app.id, at(1), 10)
      const again = Option.getOrThrow(yield* f.deliveryQueue.again(first.delivery, at(2)))
      const claimed = yield* f.claimAt(2)
      same(claimed.map(({ claims, delivery }) => [delivery, claims]), [[again, 1]])
    }),
    queueLaw("a delivery to a removed subscription is not delivered again, not even to the next one", function*(f) {
      const { app, claimed, subscription } = yield* f.claimedDeliveries(1)
      yield* f.settle(claimed)
      yield* f.subscriptions.remove(subscription.id, start)
      yield* f.subscription(app)
      const [original] = yield* f.listed(app)
      if (original === undefined) return yield* Effect.dieMessage("the record is gone")
      same(yield* f.deliveryQueue.again(original, start), Option.none())
      same(yield* f.listed(app), [original])
    })
  ]
}

/** Long before the times of other laws. */
const long = (seconds: number) => DateTime.subtract(start, { days: 20_000, seconds: -seconds })

const purges: LawGroup<Stores> = {
  about: "purges of deliveries",
  laws: [
    queueLaw(
      "a purge removes deliveries that ended by its cutoff, at most its limit, never pending ones",
      function*(f) {
        const { app, claimed, subscription } = yield* f.claimedDeliveries(7)
        const { deliveries, deliveryQueue } = f
        // Pending deliveries that are older than all ended ones.
        yield* f.queue(app, [f.event(8, long(-100)), f.event(9, long(-100))])
        const [old] = yield* f.claim({ now: long(-100), leaseEnds: long(-85) })
        yield* deliveryQueue.settle(
          old
            ? [{ delivery: { ...old.delivery, attempts: [timedOut(long(-100))], dueAt: long(-50) }, token: old.token }]
            : []
        )
        yield* Effect.repeat(deliveries.purge(long(100), 1000), { until: (count) => count === 0 })
        const endings = [20, 10, 20, 20, 11, 12]
        yield* deliveryQueue.settle(
          claimed.slice(0, 6).map(({ delivery, token }, index) => ({
            delivery: ended(delivery, index % 2 === 0 ? "set_aside" : "exhausted", long(endings[index] ?? 0)),
            token
          }))
        )
        const left = f.listedObjects(app)
        same(yield* deliveries.purge(long(12), 2), 2, "earlier deliveries that ended later do not count")
        same(yield* deliveries.purge(long(12), 100), 1)
        same(yield* left, [1, 3, 4, 7, 8, 9])
        const isThere = Effect.forEach(
          claimed,
          ({ delivery }) => Effect.map(deliveries.find(delivery.id), Option.isSome)
        )
        const before = yield* isThere
        same(before.filter(Boolean).length, 4)
        same(yield* deliveries.purge(long(50), 2), 2)
        same((yield* left).length, 4)
        same((yield* isThere).filter(Boolean).length, 2, "deliveries that are found after the purge")
        same(yield* deliveries.purge(long(50), 2), 1)
        same(yield* deliveries.purge(long(50), 2), 0)
        yield* f.subscriptions.save({ ...subscription, paused: true, version: 2 })
        yield* f.applications.save({ ...app, state: "suspended", version: 2 })
        same(yield* deliveries.purge(long(50), 2), 0, "what waits for an application")
        same(yield* left, [7, 8, 9])
      }
    ),
    queueLaw("a purge goes by the time of its caller, also years after that of the store", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(1)
      const then = DateTime.add(start, { years: 70 })
      yield* f.settle(claimed, { state: "delivered", endedAt: Option.some(then) })
      const purge = (before: DateTime.Utc) =>
        Effect.gen(function*() {
          yield* Effect.repeat(f.deliveries.purge(before, 1000), { until: (count) => count === 0 })
          return yield* Effect.forEach(claimed, ({ delivery }) => f.deliveries.find(delivery.id))
        })
      same((yield* purge(DateTime.subtract(then, { millis: 1 }))).map(Option.isSome), [true])
      same(yield* purge(then), [Option.none()])
      // The table is empty now.
      yield* purge(DateTime.unsafeMake(253402300799999))
      yield* f.queue(app, [f.event(2)])
      const [next] = yield* f.listed(app)
      holds((next?.id ?? 0) > (claimed[0]?.delivery.id ?? 0), "no identifier is given again")
    }),
    queueLaw("cancelled deliveries are purged too", function*(f) {
      const { app, subscription } = yield* f.claimedDeliveries(2)
      yield* Effect.repeat(f.deliveries.purge(long(100), 1000), { until: (count) => count === 0 })
      yield* f.subscriptions.remove(subscription.id, long(1))
      same(yield* f.deliveries.purge(long(0), 10), 0)
      same(yield* f.deliveries.purge(long(1), 10), 2)
      same(yield* f.listed(app), [])
    })
  ]
}

export const deliveryLaws: ReadonlyArray<LawGroup<Stores>> = [lists, repeats, purges]
