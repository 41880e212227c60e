/**
 * The attempts of one worker: begins them, ends them at their timeout, and decides their outcomes. One timer serves all:
 * `AbortSignal.timeout` for each attempt nearly halves the rate.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Runtime from "effect/Runtime"
import { live } from "../ApplicationSecret.ts"
import { Answer, type Begin, broken, Callbacks, forking, type Post, reportBug } from "../Callbacks.ts"
import { type Delivery, next, setAside } from "../Delivery.ts"
import type { Claimed } from "../DeliveryQueue.ts"
import { body, toSeconds } from "../Event.ts"
import { Policy } from "../Policy.ts"
import type { Recorder, Slots } from "./inFlight.ts"
import { signal } from "./runtime.ts"

/** One timer for all attempts in flight, which end in the order of their starts: one for each costs more. */
export const makeDeadlines = (timeout: Duration.Duration) =>
  Effect.map(Queue.sliding<void>(1), (started) => {
    const watched = new Set<{ readonly deadline: number; readonly onTime: () => void }>()
    const millis = Duration.toMillis(timeout)

    const sweepOnce = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
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
