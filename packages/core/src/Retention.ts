/** Removes records past their retention, in small batches that do not hold locks for long. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { DeliveryStore } from "./Delivery.ts"
import { ImportStore } from "./ImportStore.ts"
import { Policy } from "./Policy.ts"
import type { StoreError } from "./Store.ts"

/** Repeats a bounded removal until a batch is not full. Returns the total number of rows. */
export const inBatches = <E, R>(batch: (limit: number) => Effect.Effect<number, E, R>): Effect.Effect<number, E, R> =>
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

/**
 * Removes deliveries past their retention, and imported tokens that have expired. Returns the number of deliveries. Several
 * nodes may run it at the same time.
 */
export const purge: Effect.Effect<number, StoreError, DeliveryStore> = Effect.gen(function*() {
  const { deliveryRetention } = yield* Policy
  const deliveries = yield* DeliveryStore
  const imports = yield* Effect.serviceOption(ImportStore)
  const now = yield* DateTime.now
  const endedBefore = DateTime.subtractDuration(now, deliveryRetention)
  if (Option.isSome(imports)) yield* inBatches((limit) => imports.value.purgeTokens(now, limit))
  return yield* inBatches((limit) => deliveries.purge(endedBefore, limit))
})

/** Pause after the start, when a node is busy. */
const firstPause = Duration.seconds(30)

/** Repeats a purge until it is interrupted. Logs a failed purge and repeats it next time. */
export const repeatedly = <E, R>(purge: Effect.Effect<unknown, E, R>): Effect.Effect<never, never, R> =>
  Effect.flatMap(
    Policy,
    ({ purgeInterval }) =>
      Effect.catchAllCause(purge, (cause) => Effect.logWarning("the purge failed and will be repeated", cause)).pipe(
        Effect.repeat(Schedule.jittered(Schedule.spaced(purgeInterval))),
        Effect.delay(firstPause),
        Effect.zipRight(Effect.never)
      )
  )

/** Repeats `purge` until the layer ends. */
export const layer: Layer.Layer<never, never, DeliveryStore> = Layer.scopedDiscard(
  Effect.forkScoped(repeatedly(purge))
)
