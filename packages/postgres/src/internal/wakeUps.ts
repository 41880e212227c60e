/** Hints that there may be deliveries to claim. They are not reliable: workers also poll. */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Minimum interval between hints to other nodes. */
const throttleMillis = 20

export interface WakeUps {
  readonly wake: Effect.Effect<void>
  readonly wakeUps: Stream.Stream<void>
  /** Handles a hint from another node. */
  readonly heard: () => void
}

/**
 * Wakes this node immediately. After a short time, which merges further hints, wakes it again (the transaction of the
 * hint may not have been committed before) and the other nodes with `notify`.
 */
export const make = (notify: Effect.Effect<void, SqlError>): Effect.Effect<WakeUps, never, Scope.Scope> =>
  Effect.gen(function*() {
    const changes = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    // `publish` makes room. An unsafe offer fails for all listeners while one of them is busy.
    const heard = () => {
      runFork(PubSub.publish(changes, undefined))
    }
    let timer: NodeJS.Timeout | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => clearTimeout(timer)))
    const wake = Effect.sync(() => {
      heard()
      timer ??= setTimeout(() => {
        timer = undefined
        heard()
        runFork(Effect.ignore(notify))
      }, throttleMillis)
    })
    return { wake, wakeUps: Stream.fromPubSub(changes), heard }
  })
