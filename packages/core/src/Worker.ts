/**
 * Delivers events: claims due deliveries, attempts them (`internal/attempts`) and records the outcomes, on any number of
 * nodes. A claim ends with its lease, and the next worker attempts again what has no outcome. So a worker may die between
 * any two lines: a receiver sees a repeat, never a loss.
 */
import type * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { Audit, Entry } from "./Audit.ts"
import type { Callbacks } from "./Callbacks.ts"
import { type DeliveryId, longestPause } from "./Delivery.ts"
import { type Claimed, DeliveryQueue } from "./DeliveryQueue.ts"
import {
  type Finished,
  isDoubtful,
  makeAttempt,
  makeDeadlines,
  makeSlots,
  type Parts,
  type Slots
} from "./internal/attempts.ts"
import { makeNow, signal } from "./internal/runtime.ts"
import { clockTolerance, Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"

/**
 * A claim costs as much as 50 deliveries: after a full one, wait for this share of the slots, or for the pause. A quarter
 * gave 0.98 times the rate.
 */
const largeClaim = 1 / 2
const claimPause = Duration.millis(10)

/** An outage has ended when no claim has failed for this time. A store that comes and goes is logged once. */
const calm = Duration.seconds(10)

/** The latest due time or end of a lease that the clock of a node can have given now. */
const latestOf = (policy: Policy.Service, now: DateTime.Utc): DateTime.Utc =>
  DateTime.addDuration(now, Duration.sum(Duration.max(longestPause(policy), policy.deliveryLease), clockTolerance))

/** Claims once. Returns whether more deliveries may be due. */
const makeClaim = (parts: Parts) =>
  Effect.gen(function*() {
    const { now, recorder, slots } = parts
    const queue = yield* DeliveryQueue
    const secrets = yield* Secrets
    const policy = yield* Policy
    const attempt = yield* makeAttempt(parts)

    /** Whether the next claim takes one delivery. */
    let isSingle = false

    /**
     * Claims for the free slots and starts each attempt immediately: a claim is the start of an attempt (law 8). A doubtful
     * delivery is claimed alone: if it ends the process, deliveries that were claimed with it would count a claim more.
     */
    const claim = Effect.gen(function*() {
      const at = now()
      const free = slots.available()
      if (free <= 0) return false
      const limit = isSingle ? 1 : free
      const claimed = yield* queue.claim({
        now: at,
        leaseEnds: DateTime.addDuration(at, policy.deliveryLease),
        latest: latestOf(policy, at),
        token: Redacted.value(yield* secrets.make("claim")),
        limit,
        perSubscription: policy.deliveryPerSubscription,
        allowances: slots.allowances(at)
      })
      const doubtful = claimed.length === 1 ? [] : claimed.filter((one) => isDoubtful(one, policy))
      const left: Array<Claimed> = []
      for (const one of claimed) if (!doubtful.includes(one) && !attempt(one, yield* Random.next)) left.push(one)
      // Ignore an error: the deliveries are claimed again after their lease.
      if (left.length > 0) yield* Effect.ignore(queue.release(left, DateTime.addDuration(now(), policy.deliveryPoll)))
      const [first] = doubtful
      isSingle = first !== undefined
      if (first !== undefined) yield* Effect.ignore(queue.release(doubtful, first.delivery.dueAt))
      return isSingle || claimed.length === limit
    }).pipe(
      Effect.tapErrorCause(() => Effect.sync(() => recorder.failed(now()))),
      Effect.sandbox,
      Effect.uninterruptible
    )

    /** The last failed claim of an outage. */
    let failedAt: DateTime.Utc | undefined
    const failed = (cause: Cause.Cause<unknown>) =>
      Effect.suspend(() => {
        const isNew = failedAt === undefined
        failedAt = now()
        return isNew ? Effect.logWarning("deliveries wait for the store", cause) : Effect.void
      })
    const succeeded = Effect.suspend(() => {
      if (failedAt === undefined || DateTime.lessThan(now(), DateTime.addDuration(failedAt, calm))) return Effect.void
      failedAt = undefined
      return Effect.logInfo("deliveries continue: the store answers again")
    })

    // Retries until the store answers, also after a bug.
    const noted = Effect.tapError(claim, failed)
    return Effect.catchAll(noted, () => Effect.eventually(Effect.delay(noted, storePause))).pipe(
      Effect.zipLeft(succeeded)
    )
  })

/** Maximum number of attempts that one save records. Two saves at a time gave 0.95 times the rate. */
const settleBatch = 500

/** Pause before a worker retries a store that did not answer. */
const storePause = Duration.millis(500)

/** Makes a recorder, which offers to `wake` after each batch. */
const makeRecorder = (
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
      failedAt: () => failedAt
    }
  })

/** Works until interrupted, then finishes and records the attempts in flight: at most one callback timeout. */
export const run: Effect.Effect<never, never, Audit | DeliveryQueue | Callbacks | Secrets> = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const policy = yield* Policy
  const now = makeNow(yield* Effect.clock)
  const wake = yield* Queue.sliding<void>(1)
  const slots = makeSlots(policy)
  const deadlines = yield* makeDeadlines(policy.callbackTimeout)
  const recorder = yield* makeRecorder(now, slots, wake)
  const claim = yield* makeClaim({ deadlines, now, recorder, slots })

  /** The pause before the next claim, at most a day. A due delivery that was not claimed waits for a free slot. */
  const nextDue = Effect.suspend(() => queue.nextDue?.(latestOf(policy, now())) ?? Effect.succeed(0))
  const idle = Effect.map(nextDue, (due) => {
    const millis = due - now().epochMillis
    return millis > 0 ? Math.min(millis, 86_400_000) : policy.deliveryPoll
  })

  const claimAgain = Effect.gen(function*() {
    if (yield* claim) {
      const enough = Math.ceil(policy.deliveryConcurrency * largeClaim)
      yield* Effect.timeoutOption(slots.awaitAvailable(enough), claimPause)
    } else {
      yield* Effect.timeoutOption(Queue.take(wake), yield* idle)
    }
  })

  const listening = yield* Effect.forkDaemon(Stream.runForEach(queue.wakeUps, () => Queue.offer(wake, undefined)))
  const recording = yield* Effect.forkDaemon(recorder.run)
  const sweeping = yield* Effect.forkDaemon(deadlines.sweep)
  const drain = Effect.gen(function*() {
    yield* Fiber.interrupt(listening)
    while (!slots.isIdle()) yield* Queue.take(wake)
    yield* Fiber.interruptAll([recording, sweeping])
  })

  return yield* Effect.ensuring(Effect.forever(claimAgain), drain)
})

/** Runs a worker until the layer ends. Its end waits for the attempts in flight. */
export const layer: Layer.Layer<never, never, Audit | DeliveryQueue | Callbacks | Secrets> = Layer.scopedDiscard(
  Effect.forkScoped(run)
)
