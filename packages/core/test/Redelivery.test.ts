/** Redelivery of many: what is sent again, in which order, however often it is begun, interrupted and repeated. */
import { describe, expect, it } from "@effect/vitest"
import { Deliveries, Delivery, DeliveryQueue, Event, Registration, Subscription } from "@startlist/core"
import { VirtualTime } from "@startlist/testing"
import { DateTime, Effect, FastCheck, Option } from "effect"
import { layer, makeClient } from "./support/fixture.ts"

/** One event: its object, and the outcomes of its deliveries. The last one may be pending. */
interface Sent {
  readonly objectId: number
  readonly outcomes: ReadonlyArray<"exhausted" | "delivered">
}

const history = FastCheck.array(
  FastCheck.record({
    objectId: FastCheck.integer({ min: 1, max: 3 }),
    outcomes: FastCheck.array(FastCheck.constantFrom<Sent["outcomes"][number]>("exhausted", "exhausted", "delivered"), {
      minLength: 1,
      maxLength: 3
    })
  }),
  { minLength: 1, maxLength: 8 }
)

/** Claims the first of each object, and ends it. */
const end = (state: Delivery.State) =>
  Effect.gen(function*() {
    const queue = yield* DeliveryQueue.DeliveryQueue
    const now = yield* DateTime.now
    const request = { now, leaseEnds: DateTime.add(now, { seconds: 15 }), token: `at ${now.epochMillis}` }
    const claimed = yield* queue.claim({ ...request, limit: 1000, perSubscription: 1000, allowances: new Map() })
    yield* queue.settle(claimed.map(({ delivery, token }) => ({
      token,
      delivery: { ...delivery, state, endedAt: Option.some(now) }
    })))
    return claimed.map(({ delivery }) => delivery)
  })

/** An application with these events. Their order is that of the list. */
const play = (events: ReadonlyArray<Sent>) =>
  Effect.gen(function*() {
    const queue = yield* DeliveryQueue.DeliveryQueue
    const { application: { id: applicationId } } = yield* makeClient()
    const subscriptions = yield* Subscription.SubscriptionStore
    const now = yield* DateTime.now
    yield* subscriptions.insert({
      applicationId,
      callbackUrl: "https://app.example.test/hook",
      createdAt: now,
      updatedAt: now
    })
    for (const [sequence, { objectId, outcomes }] of events.entries()) {
      const event = Event.Event.make({
        id: Event.EventId.make(`evt_${sequence}`),
        aspectType: "updated",
        objectType: "registration",
        objectId,
        sequence,
        updates: Registration.emptyUpdates,
        time: yield* DateTime.now,
        trace: Option.none()
      })
      yield* queue.enqueue([{ event, audience: Event.Audience.Application({ applicationId }) }])
      for (const [index, state] of outcomes.entries()) {
        const [delivery] = yield* end(state)
        if (delivery !== undefined && index < outcomes.length - 1) yield* queue.again(delivery, yield* DateTime.now)
      }
    }
    return applicationId
  })

type Wanted = Partial<Deliveries.Redelivery>

/** Redelivers to the end, or only this number of parts. */
const redeliver = (changes: Wanted = {}, parts = Infinity) =>
  Effect.gen(function*() {
    const deliveries = yield* Deliveries.Deliveries
    const until = DateTime.add(yield* DateTime.now, { millis: 1 })
    let [redelivered, skipped, after] = [0, 0, Option.none<Delivery.DeliveryId>()]
    for (let part = 0; part < parts; part++) {
      const done = yield* deliveries.redeliverMany({
        applicationId: Option.none(),
        state: Option.some("exhausted"),
        since: DateTime.unsafeMake(0),
        until,
        only: "latest",
        after,
        ...changes
      })
      redelivered += done.redelivered
      skipped += done.skipped
      after = done.next
      if (Option.isNone(after)) break
    }
    return { redelivered, skipped }
  })

/** All deliveries, oldest first. */
const all = Effect.flatMap(Delivery.DeliveryStore, ({ list }) =>
  list({
    applicationId: Option.none(),
    state: Option.none(),
    after: Option.none(),
    limit: 10_000,
    order: "oldest first"
  }))

const last = (outcomes: Sent["outcomes"]) => outcomes.at(-1)

/** The places of the events that are sent again: their last delivery failed, and nothing newer of their object arrived. */
const expected = (events: ReadonlyArray<Sent>, only: Deliveries.Redelivery["only"]) =>
  events.flatMap(({ objectId, outcomes }, place) => {
    const isOvertaken = events.slice(place + 1).some((one) =>
      one.objectId === objectId && one.outcomes.includes("delivered")
    )
    return last(outcomes) === "exhausted" && (only === "unrepeated" || !isOvertaken) ? [place] : []
  })

const inVirtualTime = <A, E>(effect: Effect.Effect<A, E, VirtualTime.VirtualTime>, seed: number) =>
  VirtualTime.run(effect, { seed })

describe("redelivery of many", () => {
  it.effect("sends each event whose last delivery failed and that nothing overtook, once, in the order of its object", () =>
    Effect.promise(() =>
      FastCheck.assert(FastCheck.asyncProperty(
        history,
        FastCheck.constantFrom("latest" as const, "unrepeated" as const),
        (events, only) =>
          Effect.runPromise(
            Effect.gen(function*() {
              yield* play(events)
              const before = (yield* all).length
              const { redelivered } = yield* redeliver({ only })
              const made = (yield* all).slice(before).map(({ event }) => event.sequence)
              expect(made).toEqual(expected(events, only))
              expect(redelivered).toBe(made.length)
              expect((yield* redeliver({ only })).redelivered).toBe(0)
            }).pipe(Effect.provide(layer))
          )
      ))
    ))

  it.effect("two operators at the same time, of whom one is interrupted, send nothing twice, in every interleaving", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(history, FastCheck.nat(), FastCheck.nat(6), (events, seed, steps) =>
          Effect.runPromise(inVirtualTime(
            Effect.gen(function*() {
              yield* play(events)
              const { interleaved } = yield* VirtualTime.VirtualTime
              yield* interleaved(
                Effect.all([redeliver(), redeliver(), Effect.timeoutOption(redeliver(), steps)], {
                  concurrency: "unbounded"
                })
              )
              yield* redeliver()
              const pending = (yield* all).filter(({ state }) =>
                state === "pending"
              ).map(({ event }) =>
                event.sequence
              )
              expect(pending.sort()).toEqual(expected(events, "latest"))
            }).pipe(Effect.provide(layer)),
            seed
          )))
      )
    ))

  it.effect("works in parts, continues behind the last one, and ends although its own repeats fail again", () =>
    Effect.gen(function*() {
      yield* play(Array.from({ length: 450 }, (_, place) => ({ objectId: place + 1, outcomes: ["exhausted"] })))
      const until = DateTime.add(yield* DateTime.now, { millis: 1 })
      expect(yield* redeliver({ until }, 1)).toEqual({ redelivered: 200, skipped: 0 })
      expect(yield* redeliver({ until }, 2)).toEqual({ redelivered: 200, skipped: 200 })
      const { redeliverMany } = yield* Deliveries.Deliveries
      let after = Option.none<Delivery.DeliveryId>()
      let parts = 0
      do {
        const wanted = {
          applicationId: Option.none(),
          state: Option.some("exhausted" as const),
          only: "latest" as const
        }
        const part = yield* redeliverMany({ ...wanted, since: DateTime.unsafeMake(0), until, after })
        after = part.next
        yield* Effect.sleep("1 second")
        yield* end("exhausted")
        parts++
      } while (Option.isSome(after))
      expect(parts).toBeLessThanOrEqual(6)
      expect((yield* all).length).toBe(900)
    }).pipe(Effect.provide(layer), (whole) => inVirtualTime(whole, 1)))

  it.effect("sends a delivered event again once, however often it is begun after its repeats arrived", () =>
    Effect.gen(function*() {
      yield* play([1, 2, 3, 1].map((objectId) => ({ objectId, outcomes: ["delivered"] })))
      for (const [only, counts] of [["latest", [3, 0, 0]], ["unrepeated", [1, 0, 0]]] as const) {
        for (const count of counts) {
          expect((yield* redeliver({ state: Option.some("delivered"), only })).redelivered).toBe(count)
          yield* Effect.sleep("1 second")
          yield* end("delivered")
        }
      }
    }).pipe(Effect.provide(layer), (whole) => inVirtualTime(whole, 1)))

  it.effect("is limited to an application, a state, and the time at which deliveries ended", () =>
    Effect.gen(function*() {
      const one = yield* play([{ objectId: 1, outcomes: ["exhausted"] }])
      yield* Effect.sleep("1 hour")
      const from = yield* DateTime.now
      const two = yield* play([{ objectId: 2, outcomes: ["exhausted"] }])
      const empty = { redelivered: 0, skipped: 0 }
      expect(yield* redeliver({ applicationId: Option.some(one), since: from })).toEqual(empty)
      expect(yield* redeliver({ state: Option.some("delivered") })).toEqual(empty)
      expect(yield* redeliver({ until: from, applicationId: Option.some(two) })).toEqual(empty)
      expect(yield* redeliver({ since: from })).toEqual({ redelivered: 1, skipped: 0 })
      expect(yield* redeliver()).toEqual({ redelivered: 1, skipped: 1 })
    }).pipe(Effect.provide(layer), (whole) => inVirtualTime(whole, 1)))
})
