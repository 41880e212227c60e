/** Laws of the log of events (law 12): a reader that continues from the last position sees each event once. */
import type { LogEntry } from "@startlist/core/Delivery"
import type { Application } from "@startlist/core/Application"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { LawGroup } from "../Law.ts"
import { same, tagOf } from "./expecting.ts"
import { at, ended, type Fixture, objectsOf, start } from "./fixture.ts"
import { queueLaw } from "./storeLaw.ts"

/** A reader of the log of an application. Each read continues from the last position. */
export const reader = (f: Fixture, { id: applicationId }: Pick<Application, "id">) => {
  const seen: Array<LogEntry> = []
  return {
    seen,
    /** Reads the next page. Returns its entries. */
    read: (limit: number) =>
      Effect.map(
        Effect.suspend(() => f.deliveries.log({ applicationId, after: seen.at(-1)?.position ?? 0, limit })),
        (page) => {
          seen.push(...page)
          return page
        }
      )
  }
}

/** Long before the times of other laws. */
const long = DateTime.subtract(start, { days: 20_000 })

export const eventLogLaws: LawGroup<Stores> = {
  about: "log of events",
  laws: [
    queueLaw("a reader sees each event of its application once, oldest first, page by page", function*(f) {
      const [{ app }, other] = [yield* f.subscribed, yield* f.subscribed]
      const mine = reader(f, app)
      same(yield* mine.read(10), [])
      yield* f.queue(app, f.events([1, 2, 3]))
      yield* f.queue(other.app, [f.event(8)])
      yield* f.queue(app, f.events([4, 5]))
      for (const page of [[1, 2], [3, 4], [5], []]) same(objectsOf(yield* mine.read(2)), page)
      yield* f.queue(app, [f.event(6)])
      same(objectsOf(yield* mine.read(2)), [6])
      same(mine.seen.map(({ delivery }) => delivery), yield* f.listed(app))
      same(objectsOf(yield* reader(f, other.app).read(10)), [8])
      same(objectsOf(yield* reader(f, app).read(10)), [1, 2, 3, 4, 5, 6], "a second reader")
    }),
    queueLaw("an entry is the delivery as it is now", function*(f) {
      const { app, claimed: [one] } = yield* f.claimedDeliveries(1)
      if (one === undefined) return
      const [before] = yield* reader(f, app).read(10)
      same(before?.delivery, one.delivery)
      const exhausted = ended(one.delivery, "exhausted")
      yield* f.deliveryQueue.settle([{ delivery: exhausted, token: one.token }])
      same(yield* reader(f, app).read(10), [{ position: before?.position, delivery: exhausted }])
    }),
    queueLaw("events are in the order in which they were queued, whenever they are due", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(2)
      yield* f.settle(claimed.slice(0, 1), { dueAt: at(60) })
      yield* f.queue(app, [f.event(1, at(1)), f.event(3, at(-1))])
      same(objectsOf(yield* reader(f, app).read(10)), [1, 2, 1, 3])
    }),
    queueLaw("a delivery again is not in the log", function*(f) {
      const { app, claimed: [one] } = yield* f.claimedDeliveries(1)
      if (one === undefined) return
      yield* f.settle([one])
      const mine = reader(f, app)
      const first = Option.getOrThrow(yield* f.deliveryQueue.again(one.delivery, at(5)))
      same((yield* mine.read(10)).map(({ delivery }) => delivery.id), [one.delivery.id])
      yield* f.deliveryQueue.again(first, at(6))
      same(yield* mine.read(10), [])
    }),
    queueLaw("nor is a delivery again of an event whose first delivery was purged", function*(f) {
      const { app, claimed: [one] } = yield* f.claimedDeliveries(1)
      if (one === undefined) return
      yield* f.settle([one], { state: "delivered", endedAt: Option.some(long) })
      const second = Option.getOrThrow(yield* f.deliveryQueue.again(one.delivery, at(5)))
      yield* f.deliveries.purge(long, 1000)
      same(yield* f.deliveryQueue.again(one.delivery, at(5)), Option.none(), "what was purged, again")
      same(Option.isSome(yield* f.deliveryQueue.again(second, at(5))), true)
      same(yield* reader(f, app).read(10), [])
    }),
    queueLaw("a reader goes on after a purge, and after the end of the subscription", function*(f) {
      const { app, claimed, subscription } = yield* f.claimedDeliveries(3)
      const [mine, ahead] = [reader(f, app), reader(f, app)]
      yield* mine.read(1)
      yield* ahead.read(10)
      yield* f.settle(claimed, { state: "delivered", endedAt: Option.some(long) })
      yield* f.deliveries.purge(long, 1000)
      same(yield* mine.read(10), [], "what was removed")
      same(yield* ahead.read(10), [], "what is behind the last one that was removed")
      yield* f.queue(app, [f.event(7)])
      yield* f.subscriptions.remove(subscription.id, start)
      yield* f.subscription(app)
      yield* f.queue(app, [f.event(8)])
      same(objectsOf(yield* mine.read(10)), [7, 8])
    }),
    queueLaw("a position that was never given is unknown", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1)])
      same(yield* tagOf(f.deliveries.log({ applicationId: app.id, after: maxId, limit: 10 })), "UnknownPosition")
    }),
    queueLaw("a reader misses nothing of long saves that overlap", function*(f) {
      const { app } = yield* f.subscribed
      const mine = reader(f, app)
      let saved = 0
      const save = Effect.suspend(() => {
        const events = Array.from({ length: 50 }, () => f.event(++saved))
        return f.enqueue(app, events)
      })
      for (let round = 0; round < 8; round++) {
        const saving = yield* Effect.fork(Effect.all([save, save, save, save], { concurrency: "unbounded" }))
        const isSaved = Effect.map(Fiber.poll(saving), Option.isSome)
        yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), mine.read(1000)), { until: () => isSaved, times: 1000 })
        yield* Fiber.join(saving)
        yield* mine.read(1000)
        same(mine.seen.length, saved, "number of events that a reader saw")
      }
    }),
    queueLaw("readers that race writers and each other miss nothing, and see nothing twice", function*(f) {
      const { app } = yield* f.subscribed
      const [one, two] = [reader(f, app), reader(f, app)]
      const writers = [0, 1, 2, 3].map((writer) =>
        Effect.forEach([1, 2, 3, 4, 5], () => {
          const events = [f.event(writer + 1), f.event(writer + 1)]
          return writer % 2 === 0 ? f.queue(app, events) : f.enqueue(app, events)
        })
      )
      const following = [one, two].map(({ read }) => Effect.repeatN(Effect.zipRight(Effect.yieldNow(), read(3)), 30))
      const working = Effect.repeatN(Effect.flatMap(f.claim(), (found) => f.settle(found)), 30)
      yield* Effect.all([...writers, ...following, working], { concurrency: "unbounded", discard: true })
      const all = new Set((yield* f.listed(app)).map(({ event }) => event.id))
      for (const { read, seen } of [one, two]) {
        yield* Effect.repeat(read(7), { until: (page) => page.length === 0 })
        const ids = seen.map(({ delivery }) => delivery.event.id)
        same(ids.length, all.size, "number of events that a reader saw")
        same(new Set(ids), all)
      }
      for (const writer of [1, 2, 3, 4]) {
        const of = ({ delivery }: LogEntry) => delivery.event.objectId === writer
        const order = one.seen.filter(of).map(({ delivery }) => delivery.id)
        same(order, [...order].sort((a, b) => a - b), `order of the events about object ${writer}`)
      }
    })
  ]
}
