/** Laws of deliveries that are repeated, one by one or all of a state. */
import type { Delivery } from "@startlist/core/Delivery"
import type { Stores } from "@startlist/core/Services"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { LawGroup } from "../Suite.ts"
import { same } from "./expecting.ts"
import { at, type Fixture } from "./fixture.ts"
import { often, queueLaw } from "./storeLaw.ts"

/** Ends all that can be claimed, in the state of each object. */
const end = (f: Fixture, states: Readonly<Record<number, Delivery["state"]>>) =>
  Effect.flatMap(f.claimAt(10), (claimed) =>
    Effect.forEach(
      claimed,
      (one) =>
        f.settle([one], { state: states[one.delivery.event.objectId] ?? "exhausted", endedAt: Option.some(at(11)) })
    ))

const missing = Effect.dieMessage("a delivery is missing")

const idsOf = (deliveries: ReadonlyArray<Delivery>) => deliveries.map(({ id }) => id)

export const redeliveryLaws: LawGroup<Stores> = {
  about: "redelivery",
  laws: [
    queueLaw("a list with the oldest first has the same deliveries, page by page", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, f.events([1, 1, 2, 3, 4, 5]))
      yield* end(f, { 1: "delivered" })
      for (const state of [undefined, "exhausted", "pending"] as const) {
        const filter = { applicationId: Option.some(app.id), state: Option.fromNullable(state) }
        const newestFirst = yield* f.deliveries.list({ ...filter, after: Option.none(), limit: 10 })
        const read: Array<Delivery> = []
        for (let size = 2; size === 2;) {
          const after = Option.fromNullable(read.at(-1)?.id)
          const page = yield* f.deliveries.list({ ...filter, after, limit: 2, order: "oldest first" })
          read.push(...page)
          size = page.length
        }
        same(read, [...newestFirst].reverse())
      }
    }),
    queueLaw("the repeat of a delivery is the newest of its event, or the newest that arrived", function*(f) {
      const { app } = yield* f.subscribed
      const { app: other } = yield* f.subscribed
      const event = f.event(1)
      yield* f.queue(app, [event, f.event(2)])
      yield* f.queue(other, [event])
      yield* end(f, {})
      const [first, second] = yield* f.listed(app)
      const [others] = yield* f.listed(other)
      if (first === undefined || second === undefined || others === undefined) return yield* missing
      const repeats = (one: Delivery) =>
        Effect.map(
          f.deliveries.repeats([one, second, others]),
          (found) => [...found].map(([id, repeat]) => [id, repeat.id, repeat.state])
        )
      same(yield* repeats(first), [])
      const made: Array<Delivery> = []
      for (const state of ["exhausted", "delivered", "exhausted"] as const) {
        made.push(...Option.toArray(yield* f.deliveryQueue.again(first, at(10))))
        yield* end(f, { 1: state })
      }
      const [failed, delivered, last] = idsOf(made)
      same(yield* repeats(first), [[first.id, delivered, "delivered"]])
      const [repeat, repeated] = made
      if (repeat === undefined || repeated === undefined) return yield* missing
      same(yield* repeats(repeat), [[failed, delivered, "delivered"]])
      same(yield* repeats(repeated), [[delivered, last, "exhausted"]])
      same([...yield* f.deliveries.repeats([])], [])
    }),
    queueLaw("only what is unrepeated, or the latest event of an object, is repeated on request", function*(f) {
      const { app } = yield* f.subscribed
      const { app: other } = yield* f.subscribed
      const [old, recent] = [f.event(1), f.event(1)]
      yield* f.queue(app, [recent, old, f.event(2)])
      yield* f.queue(other, [old])
      yield* end(f, {})
      yield* end(f, {})
      const [recently, early] = yield* f.listed(app)
      const [others] = yield* f.listed(other)
      if (recently === undefined || early === undefined || others === undefined) return yield* missing
      const isMade = (one: Delivery, only?: "unrepeated" | "latest") =>
        Effect.map(f.deliveryQueue.again(one, at(10), only), Option.isSome)
      same(yield* isMade(early, "latest"), true, "the newer event has failed")
      same(yield* isMade(early, "unrepeated"), false, "it is pending again")
      same(yield* isMade(recently, "latest"), true, "the older event is pending")
      yield* end(f, { 1: "exhausted" })
      yield* end(f, { 1: "delivered" })
      const [again] = (yield* f.listed(app)).filter(({ event, id }) => event.id === old.id && id !== early.id)
      if (again === undefined) return yield* missing
      same(yield* isMade(again, "latest"), false, "the newer event was delivered")
      same(yield* isMade(again, "unrepeated"), true, "the newest repeat counts")
      same(yield* isMade(again), true, "whatever was repeated")
      same(yield* isMade(others, "latest"), true, "to another subscription")
      same(yield* isMade({ ...early, event: f.event(1) }, "latest"), false, "the stored event counts")
    }),
    queueLaw("a delivered repeat is repeated only on its own", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1)])
      yield* end(f, { 1: "delivered" })
      const [first] = yield* f.listed(app)
      if (first === undefined) return yield* missing
      const again = (one: Delivery, only?: "unrepeated" | "latest") => f.deliveryQueue.again(one, at(10), only)
      const failed = yield* again(first, "latest")
      yield* end(f, { 1: "exhausted" })
      const arrived = Option.isSome(failed) ? yield* again(failed.value, "latest") : yield* missing
      yield* end(f, { 1: "delivered" })
      if (Option.isNone(arrived)) return yield* missing
      for (const only of ["unrepeated", "latest"] as const) {
        same(Option.isSome(yield* again(arrived.value, only)), false, only)
      }
      same(Option.isSome(yield* again(arrived.value)), true)
    }),
    queueLaw(
      "of two that repeat an unrepeated delivery at the same time, one does",
      often(function*(f) {
        const { claimed } = yield* f.claimedDeliveries(1)
        yield* f.settle(claimed, { state: "exhausted", endedAt: Option.some(at(1)) })
        const again = Effect.forEach(claimed, ({ delivery }) => f.deliveryQueue.again(delivery, at(2), "unrepeated"))
        const made = yield* Effect.all([again, again, again, again], { concurrency: "unbounded" })
        same(made.flat().filter(Option.isSome).length, 1)
        yield* f.cleanUp
      })
    )
  ]
}
