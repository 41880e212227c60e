/** What is made when it is first asked for. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * Makes it for the first who asks, and keeps it for all. It is made in a fiber of its own, since whoever asks may go away
 * meanwhile: `Effect.cached` keeps the interruption of the first as well, and hands it on to everybody after.
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
