/** Every call of a store ends, also when the database does not answer. */
import { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"

/** How long a store call takes at most. Real time, whatever clock the program runs on. */
export const deadlineMillis = 4500

export const timedOut = () => new StoreError({ cause: new Error("the database did not answer in time") })

/** Ends an effect at the deadline; what it was doing is left to end by itself. */
export const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  Effect.raceFirst(
    Effect.disconnect(effect),
    Effect.async<never, StoreError>((resume) => {
      const timer = setTimeout(() => resume(Effect.fail(timedOut())), deadlineMillis)
      return Effect.sync(() => clearTimeout(timer))
    })
  )
