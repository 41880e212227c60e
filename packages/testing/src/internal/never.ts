import * as Effect from "effect/Effect"

/** Never ends. `Effect.never` keeps a timer, and the fibers of killed nodes are not interrupted: no process would end. */
export const never: Effect.Effect<never> = Effect.async<never>(() => {})
