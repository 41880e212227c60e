/** Work that callers share. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * Runs `work` for the first caller, and shares its result with all callers until `timeToLive` after its end (default: no
 * end). A failure is shared only by those who wait for it. The work runs in its own fiber, so that an interrupted caller
 * does not end it: `Effect.cached` shares an interruption, and `Effect.cachedWithTTL` can lose its semaphore to one.
 */
export const shared = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  timeToLive: Duration.Duration = Duration.infinity
): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.sync(() => {
    let last: { readonly result: Deferred.Deferred<A, E>; endedAt: number | undefined } | undefined
    // Also after a clock that was set back.
    const isOld = (endedAt: number | undefined, now: number): boolean =>
      endedAt !== undefined && Math.abs(now - endedAt) >= Duration.toMillis(timeToLive)
    const begin = Effect.gen(function*() {
      const present = { result: yield* Deferred.make<A, E>(), endedAt: undefined as number | undefined }
      last = present
      const settle = Exit.match({
        onFailure: () =>
          Effect.sync(() => {
            last = undefined
          }),
        onSuccess: () =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            present.endedAt = now
          })
      })
      const settled = Effect.onExit(Effect.interruptible(work), settle)
      yield* Effect.forkDaemon(Effect.intoDeferred(settled, present.result))
      return present.result
    })
    const find = Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => last === undefined || isOld(last.endedAt, now) ? begin : Effect.succeed(last.result)
    )
    return Effect.uninterruptibleMask((restore) => Effect.flatMap(find, (result) => restore(Deferred.await(result))))
  })
