/** An empty queue, for whoever needs one. */
import { DeliveryStore } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { settled } from "./fixture.ts"

/** The end of all leases and pauses. */
const never = DateTime.unsafeMake("2200-01-01T00:00:00.000Z")

/** Ends all pending deliveries that others left, so that claims find only the law's own. */
export const clearQueue: Effect.Effect<void, StoreError, DeliveryStore> = Effect.gen(function*() {
  const deliveries = yield* DeliveryStore
  const label = (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
  for (let round = 0; round < 10_000; round++) {
    const claimed = yield* deliveries.claim({
      now: never,
      leaseEnds: DateTime.add(never, { seconds: 1 }),
      token: `clear-${label}-${round}`,
      limit: 1000,
      perSubscription: 1000,
      allowances: new Map()
    })
    if (claimed.length === 0) return
    yield* deliveries.settle(settled(claimed))
  }
  return yield* Effect.dieMessage("the queue does not become empty")
})
