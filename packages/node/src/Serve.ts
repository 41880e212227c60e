/** `startlist serve`: runs the service with the settings of this environment. */
import { setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Engine from "@startlist/postgres/Engine"
import * as NodeGarbage from "@startlist/http/NodeGarbage"
import * as Member from "./processes/Member.ts"
import type { NotStarted } from "./processes/Primary.ts"
import * as Configuration from "./settings/Configuration.ts"
import * as Log from "./telemetry/Log.ts"

/** A node with a single process has no primary that could replace it, so it ignores SIGHUP. */
const remain = Effect.flatMap(
  Member.hangUps,
  (hangUp) =>
    Effect.forever(Effect.zipRight(hangUp, Effect.logWarning("SIGHUP is ignored: set PROCESSES to replace processes")))
)

/** Runs until it is interrupted. Compiles the embedded database while the rest of the program loads. */
export const serve: Effect.Effect<never, Configuration.InvalidConfiguration | NotStarted> = Effect.gen(function*() {
  const configuration = yield* Configuration.current
  if (configuration.processes > 1) {
    const { run } = yield* Effect.promise(() => import("./processes/Primary.ts"))
    return yield* run(configuration)
  }
  yield* NodeGarbage.tune
  if (Option.isNone(configuration.databaseUrl)) {
    // Each thread that compiles keeps memory: one takes 30 MB less than all, and a later start takes as long.
    setFlagsFromString("--wasm-num-compilation-tasks=1")
    Engine.prepare()
  }
  const { run } = yield* Effect.promise(() => import("./Service.ts"))
  if (Option.isSome(Member.name)) {
    return yield* Member.runStarted(Member.name.value, configuration, run(configuration))
  }
  yield* Effect.forkScoped(Effect.provide(remain, Log.layer(configuration)))
  return yield* run(configuration)
}).pipe(Effect.scoped)
