/** Every call of a store ends, also when the database does not answer. */
import { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** How long a store call takes at most. Real time, whatever clock the program runs on. */
export const deadlineMillis = 4500

export const timedOut = () => new StoreError({ cause: new Error("the database did not answer in time") })

/** Ends an effect at the deadline, or when its caller is interrupted; what it was doing is left to end by itself. */
export const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(restore(effect)), (fiber) => {
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
