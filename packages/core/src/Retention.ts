/** Forgets what nobody needs any more, in batches that hold no lock for long. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { DeliveryStore } from "./Delivery.ts"
import { Policy } from "./Policy.ts"
import type { StoreError } from "./Store.ts"

/** Repeats a bounded removal until a batch comes back short. Answers how many rows went in all. */
export const inBatches = <E, R>(
  batch: (limit: number) => Effect.Effect<number, E, R>
): Effect.Effect<number, E, R> =>
  Effect.gen(function*() {
    const { purgeBatch } = yield* Policy
    let total = 0
    while (true) {
      const removed = yield* batch(purgeBatch)
      total += removed
      if (removed < purgeBatch) return total
      yield* Effect.yieldNow()
    }
  })

/** Removes deliveries that ended long ago, and answers how many. Any number of nodes may run it at the same time. */
export const purge: Effect.Effect<number, StoreError, DeliveryStore> = Effect.gen(function*() {
  const { deliveryRetention } = yield* Policy
  const deliveries = yield* DeliveryStore
  const endedBefore = DateTime.subtractDuration(yield* DateTime.now, deliveryRetention)
  return yield* inBatches((limit) => deliveries.purge(endedBefore, limit))
})
