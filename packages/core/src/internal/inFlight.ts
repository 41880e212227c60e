/** What a worker has in flight: slots, also per receiver (a slow one delays only itself: law 9), and outcomes. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { Audit, Entry } from "../Audit.ts"
import type { DeliveryId } from "../Delivery.ts"
import { type Claimed, DeliveryQueue, type Settlement } from "../DeliveryQueue.ts"
import type { Policy } from "../Policy.ts"
import type { SubscriptionId } from "../Subscription.ts"
import { signal } from "./runtime.ts"

/** Time after a failure in which a receiver gets one attempt at a time, unless one succeeds. */
const suspicion = Duration.minutes(1)

/** No waiter. */
const nobody = { count: Infinity, resume: () => {} }

/**
 * Makes the slots of one worker. A receiver that failed recently gets one slot, and all such receivers at most half of
 * the slots: a hanging receiver holds a slot for the whole timeout.
 */
export const makeSlots = (policy: Policy.Service) => {
  const busy = new Map<SubscriptionId, number>()
  const suspectUntil = new Map<SubscriptionId, DateTime.Utc>()
  const suspectSlots = Math.max(1, Math.floor(policy.deliveryConcurrency / 2))
  let inFlight = 0
  let unrecorded = 0
  let turn = 0
  let awaited = nobody

  const busyWith = (id: SubscriptionId): number => busy.get(id) ?? 0
  const add = (id: SubscriptionId, count: number): void => {
    inFlight += count
    const sum = busyWith(id) + count
    if (sum === 0) busy.delete(id)
    else busy.set(id, sum)
  }

  const concurrency = policy.deliveryConcurrency
  const available = () => Math.min(concurrency, 2 * concurrency - unrecorded) - inFlight
  const tell = (): void => {
    if (available() < awaited.count) return
    const { resume } = awaited
    awaited = nobody
    resume()
  }

  return {
    /** An attempt starts. */
    take: (id: SubscriptionId): void => add(id, 1),
    /** An attempt has ended. Its slot is free, and its outcome waits to be recorded. */
    finish: (id: SubscriptionId, succeeded: boolean, now: DateTime.Utc): void => {
      if (succeeded) suspectUntil.delete(id)
      else suspectUntil.set(id, DateTime.addDuration(now, suspicion))
      add(id, -1)
      unrecorded++
      tell()
    },
    /** The outcomes of this number of ended attempts are recorded. */
    record: (count: number): void => {
      unrecorded -= count
      tell()
    },
    /** Whether no attempt is in flight or waits to be recorded. */
    isIdle: (): boolean => inFlight + unrecorded === 0,
    /** Number of attempts that can start. Together with those that wait to be recorded, at most twice the slots. */
    available,
    /** Ends as soon as this number is available. */
    awaitAvailable: (count: number): Effect.Effect<void> =>
      Effect.async((resume) => {
        awaited = { count, resume: () => resume(Effect.void) }
        tell()
      }),
    /** Number of further attempts of each subscription, where it is below `deliveryPerSubscription`. */
    allowances: (now: DateTime.Utc): ReadonlyMap<SubscriptionId, number> => {
      const allowances = new Map<SubscriptionId, number>()
      for (const [id, count] of busy) allowances.set(id, Math.max(0, policy.deliveryPerSubscription - count))
      let free = suspectSlots
      for (const [id, until] of suspectUntil) {
        if (until.epochMillis <= now.epochMillis) suspectUntil.delete(id)
        else free -= busyWith(id)
      }
      // Begin with other receivers each time: some may have no due deliveries.
      const suspects = [...suspectUntil.keys()]
      const first = suspects.length === 0 ? 0 : turn++ % suspects.length
      for (const id of [...suspects.slice(first), ...suspects.slice(0, first)]) {
        const isAllowed = free > 0 && busyWith(id) === 0
        if (isAllowed) free--
        allowances.set(id, isAllowed ? 1 : 0)
      }
      return allowances
    }
  }
}

export type Slots = ReturnType<typeof makeSlots>

/** A delivery that was attempted or set aside, and is not recorded yet. */
export interface Finished extends Settlement {
  readonly claimed: Claimed
}

/** Maximum number of attempts that one save records. Two saves at a time gave 0.95 times the rate. */
const settleBatch = 500

/** Pause before a worker retries a store that did not answer. */
export const storePause = Duration.millis(500)

/** Makes a recorder, which offers to `wake` after each batch. */
export const makeRecorder = (
  now: () => DateTime.Utc,
  slots: Slots,
  wake: Queue.Enqueue<void>
) =>
  Effect.gen(function*() {
    const audit = yield* Audit
    const queue = yield* DeliveryQueue
    const toRecord = yield* Queue.sliding<void>(1)
    const finished: Array<Finished> = []
    let failedAt = Number.NEGATIVE_INFINITY

    /** Notes that a claim or a record failed or was late. */
    const failed = (at: DateTime.Utc): void => {
      failedAt = at.epochMillis
    }

    /** Writes the audit of a batch. Only the node whose settlement is recorded does. */
    const tell = (batch: ReadonlyArray<Finished>, ids: ReadonlyArray<DeliveryId>) => {
      const recorded = new Set(ids)
      const settled = batch.filter(({ delivery }) => recorded.has(delivery.id))
      return Effect.forEach(settled, ({ delivery }) => audit.record(Entry.DeliverySettled({ delivery })), {
        discard: true
      })
    }

    /** Records a batch. After a failure, records its rows one by one, so that a bad row affects only itself. */
    const record = (batch: ReadonlyArray<Finished>): Effect.Effect<ReadonlyArray<Finished>> =>
      Effect.suspend(() => queue.settle(batch)).pipe(
        Effect.flatMap((ids) => tell(batch, ids)),
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
      add: (one: Finished): void => {
        if (finished.push(one) === 1) signal(toRecord)
      },
      /** Records until it is interrupted. */
      run: Effect.forever(recordOnce),
      failed,
      /** Time of the last failure, in milliseconds since 1970. */
      failedAt: () => failedAt
    }
  })

export type Recorder = Effect.Effect.Success<ReturnType<typeof makeRecorder>>
