/** `startlist serve`: the service as this environment says. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Engine from "@startlist/postgres/Engine"
import * as Configuration from "./Configuration.ts"

/** Runs until it is interrupted. What the embedded database is made of is compiled while the rest of the program loads. */
export const serve: Effect.Effect<never, Configuration.InvalidConfiguration> = Effect.gen(function*() {
  const configuration = yield* Configuration.current
  if (Option.isNone(configuration.databaseUrl)) Engine.prepare()
  const { run } = yield* Effect.promise(() => import("./Service.ts"))
  return yield* run(configuration)
})
