/** Ends every call of a store, even if the database does not answer. */
import { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** Timeout of a store call, in real time for any clock of the program: leaves a second to answer within five. */
export const deadlineMillis = 4000

export const timedOut = () => new StoreError({ cause: new Error("the database did not answer in time") })

/**
 * Ends an effect at the deadline, also if its caller cannot be interrupted, or when its caller is interrupted. Its
 * statement ends by itself in the background.
 */
export const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) => {
      const ended = Effect.async<A, E | StoreError>((resume) => {
        const timer = setTimeout(() => resume(Effect.fail(timedOut())), deadlineMillis)
        fiber.addObserver((exit) => {
          clearTimeout(timer)
          resume(exit)
        })
        return Effect.sync(() => clearTimeout(timer))
      })
      return Effect.onError(restore(ended), () => Fiber.interruptFork(fiber))
    })
  )
