/** Ends the attempts of a worker at their timeout. */
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

export interface Deadlines {
  /** Calls `onTime` at the timeout after `at`. The result ends the watch, and returns whether it was in time. */
  readonly watch: (at: DateTime.Utc, onTime: () => void) => () => boolean
  /** Checks the deadlines. Never ends. */
  readonly sweep: Effect.Effect<never>
}

/**
 * One timer for all attempts in flight: they have the same timeout, so they end in the order of their starts. A timer
 * and a race of fibers for each attempt would cost more than the request.
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
