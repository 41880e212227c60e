/** `npm start` and `npm run startlist`: builds the program if necessary, and runs it in this process. */
import { pathToFileURL } from "node:url"
import { build, entry } from "./program.mjs"

await build()
await import(pathToFileURL(entry).href)
