/** The style sheet of the pages: Pico's classless one with ours behind it, as one file. */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const pico = createRequire(import.meta.url).resolve("@picocss/pico/css/pico.classless.min.css")

/** Found from the sources as well as from the build. */
const own = new URL("../../assets/pages.css", import.meta.url)

/** The whole of it. */
export const text: string = `${readFileSync(pico, "utf8")}\n${readFileSync(own, "utf8")}`

/** Changes when a byte of it does. */
export const version: string = hash("sha256", text, "hex").slice(0, 16)

/** Where it is served, as a route. */
export const path = "/assets/pages.{version}.css"

/** Where this version of it is served. */
export const url: string = path.replace("{version}", version)
