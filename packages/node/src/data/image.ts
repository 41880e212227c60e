/** Creates the image from which the embedded database starts, if it is missing. */
import { setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import { prepareImage } from "@startlist/postgres/Embedded"
import { embedded } from "./ServiceTables.ts"

// Optimising the engine's code would take a third of the time, and this process is too short to benefit.
setFlagsFromString("--liftoff-only")

await Effect.runPromise(prepareImage(embedded()))
