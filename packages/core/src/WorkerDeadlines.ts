/** Ends the attempts of a worker that are over their time. */
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

export interface Deadlines {
  /** Calls `onTime` when the timeout from `at` is over. What this answers ends that, and tells whether it was in time. */
  readonly watch: (at: DateTime.Utc, onTime: () => void) => () => boolean
  /** Never ends. */
  readonly sweep: Effect.Effect<never>
}

/**
 * One timer for all attempts in flight: they have the same timeout, so they are due in the order in which they started.
 * A timer and a race of fibers for each of them costs more than the request itself.
 */
export const makeDeadlines = (timeout: Duration.Duration): Effect.Effect<Deadlines> =>
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
      watch: (at, onTime) => {
        const one = { deadline: at.epochMillis + millis, onTime }
        if (watched.size === 0) started.unsafeOffer(undefined)
        watched.add(one)
        return () => watched.delete(one)
      },
      sweep: Effect.forever(sweepOnce)
    }
  })
