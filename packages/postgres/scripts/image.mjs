/** Creates the image from which the embedded database starts, if it is missing. Needs `tsc -b`. */
import { prepareImage } from "@startlist/postgres/Embedded"
import * as Effect from "effect/Effect"

await Effect.runPromise(prepareImage())
