/** SIGHUP: a terminal that closes, or an operator who wants the service to be replaced. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/**
 * Listens from now on. The effect waits for the next SIGHUP; those that come before it is ready for one count once. On
 * a terminal SIGHUP means that it closes: the service stops as with SIGTERM.
 */
export const listen: Effect.Effect<Effect.Effect<void>, never, Scope.Scope> = Effect.gen(function*() {
  const queue = yield* Queue.sliding<void>(1)
  const onSignal = () => {
    if (process.stdout.isTTY) process.kill(process.pid, "SIGTERM")
    else Queue.unsafeOffer(queue, undefined)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", onSignal)),
    () => Effect.sync(() => process.off("SIGHUP", onSignal))
  )
  return Queue.take(queue)
})
