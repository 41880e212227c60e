/**
 * The attempts of one worker: their slots, also per receiver (a slow one delays only itself: law 9), their timeouts, and the
 * decisions of their outcomes.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Runtime from "effect/Runtime"
import { live } from "../ApplicationSecret.ts"
import { Answer, type Begin, broken, Callbacks, forking, type Post, reportBug } from "../Callbacks.ts"
import { type Delivery, next, setAside } from "../Delivery.ts"
import type { Claimed, Settlement } from "../DeliveryQueue.ts"
import { body, toSeconds } from "../Event.ts"
import { Policy } from "../Policy.ts"
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
        const left = DateTime.distance(now, until)
        // More is left than the whole time if the clock was set back.
        if (left <= 0 || left > Duration.toMillis(suspicion)) suspectUntil.delete(id)
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

/**
 * One timer for all attempts in flight, which end in the order of their starts. `AbortSignal.timeout` for each nearly halves
 * the rate.
 */
export const makeDeadlines = (timeout: Duration.Duration) =>
  Effect.map(Queue.sliding<void>(1), (started) => {
    const watched = new Set<{ deadline: number; readonly onTime: () => void }>()
    const millis = Duration.toMillis(timeout)

    const sweepOnce = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const [first] = watched
      if (first !== undefined && first.deadline > now + millis) {
        // The clock was set back since. A receiver that hangs must not hold a slot until it is as late again.
        for (const one of watched) one.deadline = Math.min(one.deadline, now + millis)
      }
      for (const one of watched) {
        if (one.deadline > now) return yield* Effect.sleep(one.deadline - now)
        watched.delete(one)
        yield* Effect.catchAllCause(Effect.sync(one.onTime), Effect.logError)
      }
      yield* Queue.take(started)
    })

    return {
      /** Calls `onTime` at the timeout after `at`. The result ends the watch, and returns whether it was in time. */
      watch: (at: DateTime.Utc, onTime: () => void): () => boolean => {
        const one = { deadline: at.epochMillis + millis, onTime }
        if (watched.size === 0) signal(started)
        watched.add(one)
        return () => watched.delete(one)
      },
      /** Checks the deadlines. Never ends. */
      sweep: Effect.forever(sweepOnce)
    }
  })

/** A delivery that was attempted or set aside, and is not recorded yet. */
export interface Finished extends Settlement {
  readonly claimed: Claimed
}

/** Records what was attempted. */
export interface Recorder {
  readonly add: (one: Finished) => void
  /** Notes that a claim or a record failed or was late. */
  readonly failed: (at: DateTime.Utc) => void
  /** Time of the last failure, in milliseconds since 1970. */
  readonly failedAt: () => number
}

/** Attempts a delivery, or sets it aside. Returns whether it did. `random` is from 0 to 1, for the next pause. */
export type Attempt = (claimed: Claimed, random: number) => boolean

/** Parts that the modules of one worker share. */
export interface Parts {
  readonly slots: Slots
  readonly deadlines: Effect.Effect.Success<ReturnType<typeof makeDeadlines>>
  readonly recorder: Recorder
  readonly now: () => DateTime.Utc
}

/** Whether a delivery had several claims without an outcome: it may be why workers end. */
export const isDoubtful = ({ claims }: Claimed, { deliveryClaims }: Policy.Service): boolean =>
  claims > deliveryClaims / 2

/** An attempt is a function: as an effect, it would double the cost of the request. */
export const makeAttempt = ({ deadlines, now, recorder, slots }: Parts): Effect.Effect<Attempt, never, Callbacks> =>
  Effect.gen(function*() {
    const callbacks = yield* Callbacks
    const policy = yield* Policy
    const runtime = yield* Effect.runtime<never>()
    const runFork = Runtime.runFork(runtime)
    const fork = forking(runtime)
    const begin: Begin<Post> = callbacks.begin ?? ((post, done) => fork(callbacks.deliver(post), done))
    /** The delivery in flight that had several claims without an outcome. */
    let doubtful: Claimed | undefined

    const brokenBy = (bug: unknown): Answer => {
      runFork(reportBug(Cause.die(bug)))
      return broken
    }

    /** Begins the request of an attempt. Returns a function that cancels it. */
    const send = (
      { delivery, signingSecrets, subscription }: Claimed,
      at: DateTime.Utc,
      done: (answer: Answer) => void
    ): () => void => {
      try {
        const post: Post = {
          callbackUrl: subscription.callbackUrl,
          id: delivery.event.id,
          timestamp: toSeconds(at),
          body: body(delivery.event, subscription.id),
          sequence: delivery.event.sequence,
          secrets: live(signingSecrets, at).map(({ value }) => value),
          trace: delivery.event.trace,
          timeout: policy.callbackTimeout
        }
        return begin(post, done)
      } catch (bug) {
        done(brokenBy(bug))
        return () => {}
      }
    }

    /** Whether the lease is nearly over after a pause of this worker. The next worker then attempts the delivery. */
    const isTooLate = (claimed: Claimed, at: DateTime.Utc) =>
      at.epochMillis + Duration.toMillis(policy.callbackTimeout) >= claimed.leaseEnds.epochMillis

    /** Whether workers may end because of this delivery, and not because of a recent failure of the store. */
    const isSuspect = ({ claims }: Claimed, at: DateTime.Utc) =>
      claims > policy.deliveryClaims &&
      at.epochMillis - recorder.failedAt() > policy.deliveryClaims * Duration.toMillis(policy.deliveryLease)

    const finish = (claimed: Claimed, delivery: Delivery, ended: DateTime.Utc): void => {
      if (doubtful === claimed) doubtful = undefined
      slots.finish(claimed.subscription.id, delivery.state === "delivered", ended)
      recorder.add({ claimed, delivery, token: claimed.token })
    }

    /** `next` for an answer of an untrusted implementation: a bug in it fails this attempt only. */
    const after = (delivery: Delivery, answer: Answer, attempted: Parameters<typeof next>[2]): Delivery => {
      try {
        return next(delivery, answer, attempted, policy)
      } catch (bug) {
        return next(delivery, brokenBy(bug), attempted, policy)
      }
    }

    return (claimed, random) => {
      const at = now()
      if (isTooLate(claimed, at)) {
        recorder.failed(at)
        return false
      }
      if (isSuspect(claimed, at)) {
        runFork(Effect.logError(`delivery ${claimed.delivery.id} is set aside: its last claims had no outcome`))
        slots.take(claimed.subscription.id)
        finish(claimed, setAside(claimed.delivery, at), at)
        return true
      }
      // One at a time: a delivery that ends the process must not affect others.
      if (isDoubtful(claimed, policy)) {
        if (doubtful !== undefined) return false
        doubtful = claimed
      }
      slots.take(claimed.subscription.id)
      const end = (answer: Answer) => {
        const ended = now()
        finish(claimed, after(claimed.delivery, answer, { at, ended, random }), ended)
      }
      const isInTime = deadlines.watch(at, () => {
        end(Answer.TimedOut({ detail: "" }))
        giveUp()
      })
      const giveUp = send(claimed, at, (answer) => {
        if (isInTime()) end(answer)
      })
      return true
    }
  })
