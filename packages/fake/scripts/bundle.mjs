/** Bundles this package. Needs `tsc -b`. */
import { fileURLToPath } from "node:url"
import { bundle } from "../../../tools/scripts/bundle.mjs"

await bundle(fileURLToPath(new URL("../", import.meta.url)), { node: ["index", "Fake"], inside: ["@startlist/embed"] })
