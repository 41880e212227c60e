/** Values that are computed on first use. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/**
 * Runs `make` on first use and shares the result. It runs in its own fiber, since the first caller may be interrupted:
 * `Effect.cached` would also share that interruption. A failure is not kept: the next use runs `make` again.
 */
export const once = <A, E, R>(make: Effect.Effect<A, E, R>): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.sync(() => {
    let made: Deferred.Deferred<A, E> | undefined
    const forgetting = Effect.onError(make, () => Effect.sync(() => made = undefined))
    const begin = Effect.suspend(() => {
      if (made !== undefined) return Effect.succeed(made)
      made = Deferred.unsafeMake<A, E>(FiberId.none)
      return Effect.as(Effect.forkDaemon(Effect.intoDeferred(forgetting, made)), made)
    })
    return Effect.flatMap(Effect.uninterruptible(begin), Deferred.await)
  })
