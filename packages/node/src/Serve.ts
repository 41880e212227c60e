/** `startlist serve`: the service as this environment says. */
import * as Effect from "effect/Effect"
import * as Configuration from "./Configuration.ts"
import * as Service from "./Service.ts"

/** Runs until it is interrupted. */
export const serve: Effect.Effect<never, Configuration.InvalidConfiguration> = Effect.flatMap(
  Configuration.current,
  Service.run
)
