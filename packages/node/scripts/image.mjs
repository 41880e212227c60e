/** Makes the images from which the embedded database starts: the one of the stores, and the service's, with its own tables. */
import { embedded } from "../dist/SqlTables.js"
import { prepareImage } from "@startlist/postgres/Embedded"
import * as Effect from "effect/Effect"

await Effect.runPromise(Effect.all([prepareImage(), prepareImage(embedded())]))
