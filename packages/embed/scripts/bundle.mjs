/** Bundles this package, and creates the image of the embedded database. Needs `tsc -b`. */
import { prepareImage } from "@startlist/postgres/Embedded"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../../../tools/scripts/bundle.mjs"

const folder = fileURLToPath(new URL("../", import.meta.url))
await bundle(folder, { node: ["index", "Startlist"], web: ["WebStartlist"] })
await Effect.runPromise(prepareImage({ image: { folder: join(folder, "dist"), fingerprint: "" } }))
