/** Ends the requests of a worker that are over their time, if the dispatcher lets itself be interrupted. */
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"

export interface Deadlines {
  /** Interrupts the fiber if it has not ended within the timeout from `at`. */
  readonly watch: <A, E>(fiber: Fiber.RuntimeFiber<A, E>, at: DateTime.Utc) => void
  /** Runs for ever. */
  readonly sweep: Effect.Effect<never>
}

/**
 * One timer for all requests in flight: they have the same timeout, so they are due in the order in which they started.
 * A timer and a race of fibers for each of them costs more than the request itself.
 */
export const makeDeadlines = (timeout: Duration.Duration): Effect.Effect<Deadlines> =>
  Effect.map(Queue.sliding<void>(1), (started) => {
    const watched = new Map<Fiber.RuntimeFiber<unknown, unknown>, number>()
    const millis = Duration.toMillis(timeout)

    const sweepOnce = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      for (const [fiber, deadline] of watched) {
        if (deadline > now) return yield* Effect.sleep(deadline - now)
        watched.delete(fiber)
        yield* Fiber.interruptFork(fiber)
      }
      yield* Queue.take(started)
    })

    return {
      watch: (fiber, at) => {
        if (fiber.unsafePoll() !== null) return
        watched.set(fiber, at.epochMillis + millis)
        fiber.addObserver(() => watched.delete(fiber))
        started.unsafeOffer(undefined)
      },
      sweep: Effect.forever(sweepOnce)
    }
  })
