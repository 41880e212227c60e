/** Makes the image from which the embedded database starts. Needs `tsc -b`; does nothing if the image is there. */
import { prepareImage } from "@startlist/postgres/Embedded"
import * as Effect from "effect/Effect"

await Effect.runPromise(prepareImage())
