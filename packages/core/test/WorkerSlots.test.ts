import { it } from "@effect/vitest"
import { Clock, DateTime, Deferred, Duration, Effect, FastCheck } from "effect"
import { describe, expect } from "vitest"
import { documented } from "../src/Policy.ts"
import { SubscriptionId } from "../src/Subscription.ts"
import { makeDeadlines, makeSlots } from "../src/internal/attempts.ts"

const receiver = SubscriptionId.make(1)
const now = DateTime.unsafeMake(0)

/** Acts like a worker: starts all attempts that it may, ends some, records some. */
const step = FastCheck.oneof(
  FastCheck.constant({ name: "start", count: Infinity }),
  FastCheck.record({ name: FastCheck.constantFrom("end", "record"), count: FastCheck.integer({ min: 1, max: 12 }) })
)

describe("the slots of a worker", () => {
  it.prop(
    "attempts in flight never exceed the slots, and with those that wait to be recorded never twice the slots",
    { steps: FastCheck.array(step, { maxLength: 60 }), deliveryConcurrency: FastCheck.integer({ min: 1, max: 8 }) },
    ({ deliveryConcurrency, steps }) => {
      const slots = makeSlots({ ...documented, deliveryConcurrency })
      let inFlight = 0
      let ended = 0
      for (const { count, name } of steps) {
        if (name === "start") {
          for (; slots.available() > 0; inFlight++) slots.take(receiver)
          // Recording takes its time, and keeps no slot from use.
          if (ended <= deliveryConcurrency) expect(inFlight).toBe(deliveryConcurrency)
        } else if (name === "end") {
          for (let left = count; left > 0 && inFlight > 0; left--, inFlight--, ended++) {
            slots.finish(receiver, true, now)
          }
        } else {
          const recorded = Math.min(count, ended)
          ended -= recorded
          slots.record(recorded)
        }
        expect(inFlight).toBeLessThanOrEqual(deliveryConcurrency)
        expect(inFlight + ended).toBeLessThanOrEqual(2 * deliveryConcurrency)
        expect(slots.isIdle()).toBe(inFlight + ended === 0)
      }
    }
  )

  it("a receiver that has failed is no longer suspect after a clock that was set back", () => {
    const slots = makeSlots(documented)
    const later = DateTime.addDuration(now, "1 hour")
    slots.take(receiver)
    slots.finish(receiver, false, later)
    expect(slots.allowances(later).get(receiver)).toBe(1)
    expect(slots.allowances(now).get(receiver)).toBeUndefined()
  })
})

describe("the deadlines of a worker", () => {
  it.scopedLive("end all attempts in flight, although the clock is set back by an hour in the meantime", () =>
    Effect.gen(function*() {
      let behind = 0
      const now = () => Date.now() - behind
      const clock: Clock.Clock = Object.assign(Object.create(Clock.make()), {
        currentTimeMillis: Effect.sync(now),
        unsafeCurrentTimeMillis: now
      })
      const deadlines = yield* makeDeadlines(Duration.millis(20))
      yield* Effect.forkScoped(Effect.withClock(deadlines.sweep, clock))
      const ended = yield* Effect.replicateEffect(Deferred.make<void>(), 50)
      for (const one of ended) {
        deadlines.watch(DateTime.unsafeMake(now()), () => Deferred.unsafeDone(one, Effect.void))
      }
      behind = 3_600_000
      yield* Effect.timeout(Effect.forEach(ended, (one) => Deferred.await(one)), "5 seconds")
    }))
})
