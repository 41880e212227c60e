/** Records what came of the attempts of one worker, in batches, and again as long as their lease lasts. */
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { type Claimed, DeliveryQueue, type Settlement } from "./DeliveryQueue.ts"
import type { Slots } from "./WorkerSlots.ts"

/** A delivery that was attempted or set aside, and is to be recorded. */
export interface Finished extends Settlement {
  readonly claimed: Claimed
}

export interface Recorder {
  readonly add: (finished: Finished) => void
  /** Records until it is interrupted. */
  readonly run: Effect.Effect<never>
  /** A claim or a record failed or came late. */
  readonly failed: (at: DateTime.Utc) => void
  /** When that was last so, in milliseconds since 1970. */
  readonly failedAt: () => number
}

/** How many attempts one save records at most. */
const settleBatch = 500

/** How long a worker waits before it asks a store again that did not answer. */
export const storePause = Duration.millis(500)

/** `wake` gets an offer after each batch. */
export const makeRecorder = (
  { now, slots, wake }: {
    readonly slots: Slots
    readonly wake: Queue.Enqueue<void>
    readonly now: () => DateTime.Utc
  }
): Effect.Effect<Recorder, never, DeliveryQueue> =>
  Effect.gen(function*() {
    const queue = yield* DeliveryQueue
    const toRecord = yield* Queue.sliding<void>(1)
    const finished: Array<Finished> = []
    let failedAt = Number.NEGATIVE_INFINITY

    const failed = (at: DateTime.Utc): void => {
      failedAt = at.epochMillis
    }

    /** Records a batch; one that fails, or meets a bug, is recorded row by row, so that a bad row harms only itself. */
    const record = (batch: ReadonlyArray<Finished>): Effect.Effect<ReadonlyArray<Finished>> =>
      Effect.suspend(() => queue.settle(batch)).pipe(
        Effect.as([]),
        Effect.catchAllCause((cause) =>
          batch.length === 1
            ? Effect.as(Effect.logWarning("an attempt could not be recorded", cause), batch)
            : Effect.map(
              Effect.forEach(batch, (one) => record([one]), { concurrency: "unbounded" }),
              (failed) => failed.flat()
            )
        )
      )

    /** What could not be recorded is tried again until its lease is over; then it is anybody's. */
    const recordOnce = Effect.gen(function*() {
      yield* Queue.take(toRecord)
      const batch = finished.splice(0, settleBatch)
      const left = new Set(yield* record(batch))
      const at = now()
      if (left.size > 0) failed(at)
      const lost = [...left].filter(({ claimed }) => at.epochMillis >= claimed.leaseEnds.epochMillis)
      for (const one of lost) left.delete(one)
      slots.record(batch.length - left.size)
      finished.push(...left)
      if (finished.length > 0) yield* Queue.offer(toRecord, undefined)
      yield* Queue.offer(wake, undefined)
      if (left.size > 0) yield* Effect.sleep(storePause)
    })

    return {
      add: (one) => {
        if (finished.push(one) === 1) toRecord.unsafeOffer(undefined)
      },
      run: Effect.forever(recordOnce),
      failed,
      failedAt: () => failedAt
    }
  })
