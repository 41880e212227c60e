/** Records the outcomes of a worker's attempts in batches. Retries until their lease ends. */
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { type Claimed, DeliveryQueue, type Settlement } from "./DeliveryQueue.ts"
import type { Slots } from "./WorkerSlots.ts"

/** A delivery that was attempted or set aside, and is not recorded yet. */
export interface Finished extends Settlement {
  readonly claimed: Claimed
}

export interface Recorder {
  readonly add: (finished: Finished) => void
  /** Records until it is interrupted. */
  readonly run: Effect.Effect<never>
  /** Notes that a claim or a record failed or was late. */
  readonly failed: (at: DateTime.Utc) => void
  /** Time of the last such failure, in milliseconds since 1970. */
  readonly failedAt: () => number
}

/** Maximum number of attempts that one save records. */
const settleBatch = 500

/** Pause before a worker retries a store that did not answer. */
export const storePause = Duration.millis(500)

/** Makes a recorder, which offers to `wake` after each batch. */
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

    /** Records a batch. After a failure, records its rows one by one, so that a bad row affects only itself. */
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

    /** Retries failed rows until their lease ends. Then any worker may claim them. */
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
