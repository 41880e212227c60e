/** Laws of the queue: settlements, searches, cancellations, the log, pages and wake-ups. `claimLaws` belong to it. */
import { type Attempt, searchIn, State } from "@startlist/core/Delivery"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Suite.ts"
import { claimLaws } from "./claimLaws.ts"
import { holds, same, tagOf } from "./expecting.ts"
import { at, long } from "./fixture.ts"
import { reader } from "./parallelLaws.ts"
import { forEach, queueLaw } from "./storeLaw.ts"

const attempts = FastCheck.array(Arbitraries.attempt, { maxLength: 3 })

const inOrder = (attempts: ReadonlyArray<Attempt>) => attempts.map((one) => JSON.stringify(one)).sort()

export const queueLaws: LawGroup<Stores> = {
  about: "the queue",
  laws: [
    ...claimLaws,
    queueLaw("an attempt is recorded with every field", function*(f) {
      const { app } = yield* f.subscribed
      const outcome = FastCheck.record({
        attempts,
        state: FastCheck.constantFrom(...State.literals.filter((state) => state !== "pending")),
        endedAt: Arbitraries.instant.map(Option.some)
      })
      yield* forEach(outcome, 12, function*(fields) {
        yield* f.queue(app, [f.event(1)])
        const retried = { attempts: fields.attempts, dueAt: at(1) }
        for (const claimed of yield* f.claim()) {
          same(yield* f.settle([claimed], retried), [claimed.delivery.id])
          same(yield* f.deliveries.find(claimed.delivery.id), { ...claimed.delivery, ...retried })
        }
        for (const claimed of yield* f.claimAt(1)) {
          same(claimed.delivery.attempts, fields.attempts)
          same(yield* f.settle([claimed], fields), [claimed.delivery.id])
          same(yield* f.deliveries.find(claimed.delivery.id), { ...claimed.delivery, ...fields })
        }
        same((yield* f.listed(app)).filter(({ state }) => state === "pending"), [])
      })
    }),
    queueLaw("a search finds what is wanted among the newest deliveries, and says where to continue", function*(f) {
      const { app } = yield* f.subscribed
      const other = yield* f.subscribed
      for (const one of [app, other.app]) yield* f.enqueue(one, Arr.makeBy(12, (n) => f.event(1 + n % 3, at(n))))
      const half = (yield* f.claimAt(20)).filter((_, place) => place % 2 === 0)
      yield* f.settle(half, { state: "delivered", endedAt: Option.some(at(21)) })
      const listed = [...yield* f.listed(app)].reverse()
      const some = <A>(...values: ReadonlyArray<A>) =>
        FastCheck.option(FastCheck.constantFrom(...values), { freq: 2 }).map(Option.fromNullable)
      const searches = FastCheck.record({
        state: some(...State.literals),
        text: some("1", "3", listed[4]?.event.id ?? "", "nothing"),
        since: some(at(0), at(5)),
        until: some(at(5), at(100)),
        after: some(...listed.map(({ id }) => id)),
        limit: FastCheck.integer({ min: 1, max: 13 }),
        among: FastCheck.integer({ min: 1, max: 13 }),
        about: some(1, 2).map(Option.map((objectId) => ({ objectType: "registration" as const, objectId })))
      })
      yield* forEach(searches, 60, function*({ about, ...wanted }) {
        const objects = Option.match(about, { onNone: () => ({}), onSome: (one) => ({ objects: [one] }) })
        const search = { ...wanted, ...objects, applicationId: Option.some(app.id) }
        const newest = listed.filter(({ id, state }) =>
          !Option.exists(wanted.state, (one) => one !== state) && !Option.exists(wanted.after, (last) => id >= last)
        )
        same(yield* f.deliveries.search(search), searchIn(search, newest.slice(0, wanted.among)))
      })
    }),
    queueLaw("the attempts since an instant are found", function*(f) {
      const { app } = yield* f.subscribed
      const wanted = FastCheck.record({ hour: FastCheck.integer({ min: -3, max: 3 }), attempts })
      yield* forEach(FastCheck.array(wanted, { minLength: 1, maxLength: 6 }), 12, function*(drawn) {
        yield* f.enqueue(app, f.events(Arr.range(1, drawn.length)))
        const claimed = yield* f.claim()
        for (const [place, { attempts, hour }] of drawn.entries()) {
          const tried = attempts.map((one, number) => ({ ...one, at: at(3600 * hour + 700 * number) }))
          yield* f.settle(claimed.slice(place, place + 1), {
            state: "exhausted",
            attempts: tried,
            endedAt: Option.some(at(1e6))
          })
        }
        const all = (yield* f.listed(app)).reverse()
        for (const among of [1, 4, 1000]) {
          const newest = all.slice(0, among).flatMap(({ attempts }) => attempts)
          for (const since of [at(0), at(-3600)]) {
            const recent = newest.filter(({ at }) => at.epochMillis >= since.epochMillis)
            same(inOrder(yield* f.deliveries.attempts(app.id, since, among)), inOrder(recent))
          }
        }
      })
    }),
    queueLaw("a delivery is made again also while it waits, but only for its own subscription", function*(f) {
      const { app, claimed, subscription } = yield* f.claimedDeliveries(1)
      yield* f.settle(claimed)
      const isMade = Effect.map(
        Effect.forEach(claimed, ({ delivery }) => f.deliveryQueue.again(delivery, at(2))),
        (made) => made.map(Option.isSome)
      )
      yield* f.subscriptions.save({ ...subscription, paused: true, version: 2 })
      same(yield* isMade, [true], "while the subscription is paused")
      yield* f.applications.save({ ...app, state: "suspended", version: 2 })
      same(yield* isMade, [true], "while the application is suspended")
      yield* f.subscriptions.remove(subscription.id, at(3))
      same(yield* isMade, [false], "after the removal of the subscription")
      yield* f.subscription(app)
      same(yield* isMade, [false], "when there is another subscription")
      yield* f.cleanUp
    }),
    queueLaw("a delivery that is cancelled keeps what it had, and ends at the time of the call", function*(f) {
      for (const end of ["cancellation", "removal"] as const) {
        const { app, claimed, subscription } = yield* f.claimedDeliveries(2)
        const [attempt] = FastCheck.sample(Arbitraries.attempt, { numRuns: 1, seed: 1 })
        yield* f.settle(claimed, { attempts: Arr.fromNullable(attempt), dueAt: at(5) })
        const before = yield* f.listed(app)
        yield* end === "removal"
          ? f.subscriptions.remove(subscription.id, at(1))
          : f.deliveryQueue.cancel(app.id, at(1), 1000)
        const ended = { state: "cancelled", endedAt: Option.some(at(1)) } as const
        same(yield* f.listed(app), before.map((delivery) => ({ ...delivery, ...ended })), `after a ${end}`)
        yield* f.cleanUp
      }
    }),
    queueLaw("a cancellation with a limit cancels the newest pending delivery", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, f.events([1, 2, 3, 4]))
      yield* f.settle((yield* f.claim()).filter(({ delivery }) => delivery.event.objectId > 2))
      same(yield* f.deliveryQueue.cancel(app.id, at(1), 1), 1)
      same((yield* f.listed(app)).map(({ state }) => state), ["pending", "cancelled", "delivered", "delivered"])
    }),
    queueLaw("with a limit of 0, nothing is returned, cancelled or purged", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(2)
      yield* f.settle(claimed.slice(0, 1), { state: "delivered", endedAt: Option.some(long) })
      const before = yield* f.listed(app)
      const all = { applicationId: Option.some(app.id), state: Option.none(), after: Option.none(), limit: 0 }
      same(yield* f.claimAt(20, { limit: 0 }), [])
      same(yield* f.deliveries.list(all), [])
      same(yield* f.deliveries.log({ applicationId: app.id, after: 0, limit: 0 }), [])
      same([yield* f.deliveryQueue.cancel(app.id, at(1), 0), yield* f.deliveries.purge(long, 0)], [0, 0])
      same(yield* f.listed(app), before)
      same(yield* f.deliveries.purge(long, 1), 1)
    }),
    queueLaw("a delivery that is made again takes no place on a page of the log", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, f.events([1, 2]))
      for (const delivery of yield* f.listed(app)) {
        for (let count = 0; count < 5; count++) yield* f.deliveryQueue.again(delivery, at(1))
      }
      yield* f.queue(app, f.events([3, 4, 5]))
      const { read } = reader(f, app)
      for (const objects of [[1, 2], [3, 4], [5], []]) {
        same((yield* read(2)).map(({ delivery }) => delivery.event.objectId), objects)
      }
    }),
    queueLaw("a reader whose last event was purged continues, and other positions are unknown", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(2)
      const read = (after: number) => f.deliveries.log({ applicationId: app.id, after, limit: 9 })
      const last = (yield* read(0)).at(-1)?.position ?? 0
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "behind the last event")
      yield* f.settle(claimed, { state: "delivered", endedAt: Option.some(long) })
      // Also those of other laws, so that there is no delivery.
      yield* Effect.repeat(f.deliveries.purge(Arbitraries.latest, 1000), {
        until: (count) => count < 1000,
        times: 100
      })
      same(yield* read(last), [])
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "in a log without events")
      yield* f.queue(app, [f.event(3)])
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "before a new event")
      same((yield* read(last)).map(({ delivery }) => delivery.event.objectId), [3])
    }),
    queueLaw("a page of deliveries continues behind one that was purged", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(3)
      const [, second] = claimed
      if (second === undefined) return yield* Effect.dieMessage("three deliveries are due, but fewer were claimed")
      yield* f.settle([second], { state: "delivered", endedAt: Option.some(long) })
      yield* f.purge
      const applicationId = Option.some(app.id)
      const after = Option.some(second.delivery.id)
      const page = yield* f.deliveries.list({ applicationId, state: Option.none(), after, limit: 9 })
      same(page.map(({ event }) => event.objectId), [1])
    }),
    queueLaw("a wake-up reaches all listeners, even if one is busy, and one has ended", function*(f) {
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
    })
  ]
}
