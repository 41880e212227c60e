/**
 * Delivers events: claims due deliveries, attempts them (`internal/attempts`) and records the outcomes
 * (`internal/inFlight`), on any number of nodes. A claim ends with its lease, and the next worker attempts again what
 * has no outcome. So a worker may die between any two lines: a receiver sees a repeat, never a loss.
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
import type { Audit } from "./Audit.ts"
import type { Callbacks } from "./Callbacks.ts"
import { longestPause } from "./Delivery.ts"
import { type Claimed, DeliveryQueue } from "./DeliveryQueue.ts"
import { isDoubtful, makeAttempt, makeDeadlines, type Parts } from "./internal/attempts.ts"
import { makeRecorder, makeSlots, storePause } from "./internal/inFlight.ts"
import { makeNow } from "./internal/runtime.ts"
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
const makeClaim = ({ now, recorder, slots, ...others }: Parts) =>
  Effect.gen(function*() {
    const queue = yield* DeliveryQueue
    const secrets = yield* Secrets
    const policy = yield* Policy
    const attempt = yield* makeAttempt({ now, recorder, slots, ...others })

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
