import { it } from "@effect/vitest"
import { DateTime, FastCheck } from "effect"
import { describe, expect } from "vitest"
import { documented } from "../src/Policy.ts"
import { SubscriptionId } from "../src/Subscription.ts"
import { makeSlots } from "../src/internal/attempts.ts"

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
})
