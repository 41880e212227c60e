/** Makes the image from which the service's embedded database starts, if it is missing. */
import { setFlagsFromString } from "node:v8"
import * as Effect from "effect/Effect"
import { prepareImage } from "@startlist/postgres/Embedded"
import { embedded } from "../SqlTables.ts"

// Optimising the engine's code would take a third of the whole time: this process is too short to benefit.
setFlagsFromString("--liftoff-only")

await Effect.runPromise(prepareImage(embedded()))
