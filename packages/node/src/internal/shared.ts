/** Work that many ask for at the same time, and that is done once for all of them. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * Runs `work` for the first who asks, and gives its result to everybody who asks meanwhile or within `timeToLive` after its
 * end. It runs in a fiber of its own: whoever goes away ends it for nobody else. `Effect.cachedWithTTL` waits for a
 * semaphore that an interruption can take away for good.
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
