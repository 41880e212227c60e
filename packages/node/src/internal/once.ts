/** Values that are computed on first use. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * Runs `make` on first use and shares the result. It runs in its own fiber, since the first caller may be interrupted:
 * `Effect.cached` would also share that interruption.
 */
export const once = <A, E, R>(make: Effect.Effect<A, E, R>): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.map(Deferred.make<A, E>(), (made) => {
    let isBegun = false
    const begin = Effect.suspend(() => {
      if (isBegun) return Effect.void
      isBegun = true
      return Effect.forkDaemon(Effect.intoDeferred(make, made))
    })
    return Effect.zipRight(Effect.uninterruptible(begin), Deferred.await(made))
  })
