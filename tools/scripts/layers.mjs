/** The layers: which package may import which, in one table. A part of `npm run check`. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The packages of the repository that the sources of each one may import. */
const allowed = {
  "packages/client": [],
  "packages/core": [],
  "packages/http": ["core"],
  "packages/postgres": ["core"],
  "packages/dispatcher": ["core"],
  "packages/testing": ["core"],
  "packages/pages": ["core", "http"],
  "packages/embed": ["core", "http", "pages"],
  "packages/fake": ["core", "http", "dispatcher", "embed", "client"],
  "packages/node": ["core", "http", "pages", "postgres", "dispatcher", "fake"],
  "tools/model": ["core", "testing"]
}

/** What some packages may import from elsewhere. Others import what their package.json names. */
const elsewhere = {
  "packages/core": /^effect\//,
  "packages/client": /^(?!effect|@effect)/
}

const imported = /^(?:import|export)\b[^"]*?\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm

const wrong = Object.entries(allowed).flatMap(([folder, packages]) => {
  const sources = join(root, folder, "src")
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name))
  return files.flatMap((file) =>
    // Comments have examples, which import the package itself.
    [...readFileSync(join(sources, file), "utf8").replace(/\/\*[\s\S]*?\*\//g, "").matchAll(imported)]
      .map(([, ...found]) => found.find((name) => name !== undefined))
      .filter((name) => {
        const [, ours] = /^@startlist\/([^/]+)/.exec(name) ?? []
        if (ours !== undefined) return !packages.includes(ours)
        return !name.startsWith(".") && elsewhere[folder]?.test(name) === false
      })
      .map((name) => `${folder}/src/${file} imports ${name}, which is not below it (tools/scripts/layers.mjs).`)
  )
})

if (wrong.length > 0) {
  console.error(wrong.join("\n"))
  process.exit(1)
}
