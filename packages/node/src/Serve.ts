/** `startlist serve`: runs the service with the settings of this environment. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Engine from "@startlist/postgres/Engine"
import * as Configuration from "./Configuration.ts"
import * as HangUp from "./HangUp.ts"
import * as Log from "./Log.ts"
import type { NotStarted } from "./processes/First.ts"
import * as Process from "./processes/Process.ts"

/** A node with a single process has no first process that could replace it, so it ignores SIGHUP. */
const remain = Effect.flatMap(
  HangUp.listen,
  (hangUp) =>
    Effect.forever(Effect.zipRight(hangUp, Effect.logWarning("SIGHUP is ignored: set PROCESSES to replace processes")))
)

/** Runs until it is interrupted. Compiles the embedded database while the rest of the program loads. */
export const serve: Effect.Effect<never, Configuration.InvalidConfiguration | NotStarted> = Effect.gen(function*() {
  const configuration = yield* Configuration.current
  if (configuration.processes > 1) {
    const { run } = yield* Effect.promise(() => import("./processes/First.ts"))
    return yield* run(configuration)
  }
  if (Option.isNone(configuration.databaseUrl)) Engine.prepare()
  const { run } = yield* Effect.promise(() => import("./Service.ts"))
  if (Option.isSome(Process.name)) {
    return yield* Process.runStarted(Process.name.value, configuration, run(configuration))
  }
  yield* Effect.forkScoped(Effect.provide(remain, Log.layer(configuration)))
  return yield* run(configuration)
}).pipe(Effect.scoped)
