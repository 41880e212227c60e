/** The layers: which package may import which, in one table, and whose tags errors have. A part of `npm run check`. */
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
  "packages/embed": ["core", "http", "pages", "postgres", "dispatcher"],
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

/** The sources in a folder, each with its text without comments: their examples import the package itself. */
const sourcesIn = (folder) =>
  readdirSync(join(root, folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => {
      const text = readFileSync(join(root, folder, "src", name), "utf8").replace(/\/\*[\s\S]*?\*\//g, "")
      return { path: `${folder}/src/${name}`, text }
    })

const wrongImports = Object.entries(allowed).flatMap(([folder, packages]) =>
  sourcesIn(folder).flatMap(({ path, text }) =>
    [...text.matchAll(imported)]
      .map(([, ...found]) => found.find((name) => name !== undefined))
      .filter((name) => {
        const [, ours] = /^@startlist\/([^/]+)/.exec(name) ?? []
        if (ours !== undefined) return !packages.includes(ours)
        return !name.startsWith(".") && elsewhere[folder]?.test(name) === false
      })
      .map((name) => `${path} imports ${name}, which is not below it (tools/scripts/layers.mjs).`)
  )
)

/** Types of the promise-based API. They import nothing but each other, because its users may have another Effect or none. */
const plainTypes = ["Calls", "NodeOptions", "Options", "Plain", "Templates"].map((name) =>
  `packages/embed/src/internal/${name}.ts`
)

const wrongTypes = sourcesIn("packages/embed")
  .filter(({ path }) => plainTypes.includes(path))
  .flatMap(({ path, text }) =>
    [...text.matchAll(imported)]
      .map(([, ...found]) => found.find((name) => name !== undefined))
      .filter((name) =>
        name !== "node:http" && !plainTypes.includes(`packages/embed/src/internal/${name.replace("./", "")}`)
      )
      .map((name) => `${path} imports ${name}. Its types are for users without Effect: write them in Plain.ts.`)
  )

/** A class of errors, with its tag if that is written where it belongs. */
const taggedError = /class (\w+)\s+extends (?:\w+\.)?TaggedError(?:<\w+>\(\))?(?:\(\s*"([^"]*)")?/g

/** An embedding server has errors of the same names, so tags say whose they are. */
const wrongTags = readdirSync(join(root, "packages")).flatMap((name) =>
  sourcesIn(`packages/${name}`).flatMap(({ path, text }) =>
    [...text.matchAll(taggedError)]
      .map(([, error, tag]) => ({ error, tag, expected: `@startlist/${name}/${error}` }))
      .filter(({ expected, tag }) => tag !== expected)
      .map(({ error, expected, tag }) => `${path}: the tag of ${error} is "${tag}". Make it "${expected}".`)
  )
)

const wrong = [...wrongImports, ...wrongTypes, ...wrongTags]

if (wrong.length > 0) {
  console.error(wrong.join("\n"))
  process.exit(1)
}
