/** SIGHUP: an operator replaces the processes, or a terminal closes. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/**
 * Starts to listen. The resulting effect waits for the next SIGHUP; several that arrive before it waits count as one.
 * On a terminal, SIGHUP means that the terminal closes: the service stops as with SIGTERM.
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
