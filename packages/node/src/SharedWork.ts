/** Work that concurrent callers share. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"

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

/**
 * Runs `work` for the first caller, and shares its result with all callers until `timeToLive` after its end. It runs in
 * its own fiber, so that an interrupted caller does not end it. `Effect.cachedWithTTL` can lose its semaphore to an
 * interruption.
 */
export const shared = <A, R>(
  work: Effect.Effect<A, never, R>,
  timeToLive: Duration.Duration
): Effect.Effect<Effect.Effect<A, never, R>> =>
  Effect.sync(() => {
    let last: { readonly result: Deferred.Deferred<A>; endedAt: number | undefined } | undefined
    const begin = Effect.gen(function*() {
      const present = { result: yield* Deferred.make<A>(), endedAt: undefined as number | undefined }
      last = present
      const ended = Effect.map(Clock.currentTimeMillis, (now) => {
        present.endedAt = now
      })
      yield* Effect.forkDaemon(Effect.intoDeferred(Effect.ensuring(Effect.interruptible(work), ended), present.result))
      return present.result
    })
    const find = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      last === undefined || (last.endedAt !== undefined && now >= last.endedAt + Duration.toMillis(timeToLive))
        ? begin
        : Effect.succeed(last.result))
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(find, (result) =>
        restore(Deferred.await(result)))
    )
  })
