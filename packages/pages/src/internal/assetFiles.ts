/** What the pages load, read once from the package. */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

export interface Asset {
  readonly type: string
  readonly text: string
  /** Where it is served, with `{version}` in it. */
  readonly path: string
  /** Changes when a byte of it does. */
  readonly version: string
  /** Where this version is served. */
  readonly url: string
}

const make = (path: string, type: string, text: string): Asset => {
  const version = hash("sha256", text, "hex").slice(0, 16)
  return { path, text, type, version, url: path.replace("{version}", version) }
}

/** Found by the package's name: a program that bundles this module moves it, and leaves the files where they are. */
const manifest = createRequire(import.meta.url).resolve("@startlist/pages/package.json")

const own = (name: string): string => readFileSync(join(dirname(manifest), "assets", name), "utf8")

const pico = readFileSync(createRequire(manifest).resolve("@picocss/pico/css/pico.classless.min.css"), "utf8")

/** Pico's classless sheet with ours behind it. */
export const stylesheet: Asset = make("/assets/pages.{version}.css", "text/css", `${pico}\n${own("pages.css")}`)

export const icon: Asset = make("/assets/icon.{version}.svg", "image/svg+xml", own("icon.svg"))
