import { afterAll, expect, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { compare, listOf } from "../src/Exports.ts"
import { modulesOf } from "../src/Modules.ts"

const folder = mkdtempSync(join(tmpdir(), "startlist-exports-"))
afterAll(() => rmSync(folder, { recursive: true }))

let packages = 0

/** The list of a package with these declaration files. */
const list = (files: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  const root = join(folder, String(packages++))
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, "dist", `${name}.d.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const exports = {
    ".": { types: "./dist/index.d.ts" },
    "./*": { types: "./dist/*.d.ts" },
    "./Private": { "@startlist/source": "./src/Private.ts" },
    "./internal/*": null
  }
  writeFileSync(join(root, "package.json"), JSON.stringify({ exports }))
  return listOf(root)
}

const counter =
  "/** Counts. */\nexport declare const count: (from: number) => number;\ndeclare const hidden: string;\nexport {};\n"

it("every export is listed with its type, of the module where a consumer finds it", () => {
  expect(list({
    index: "export * as Counter from \"./Counter.ts\";\nexport { count as again } from \"./Counter.ts\";\n",
    Counter: counter,
    "internal/Secret": "export declare const secret: string;\n",
    Private: "export declare const mine: string;\n",
    User: `import * as Schema from "effect/Schema";
declare const User_base: Schema.Class<User, { id: number }>;
export declare class User extends User_base {
}
export interface Page { readonly users: ReadonlyArray<User> }
export {};
`
  })).toEqual([
    "Counter: const count: (from: number) => number",
    "User: class User extends Schema.Class<User, { id: number }> { }",
    "User: interface Page { readonly users: ReadonlyArray<User>; }",
    "index: again = const count: (from: number) => number",
    "index: namespace Counter"
  ])
})

it("a changed type is one line lost and one gained, also at the end of a long declaration", () => {
  const before = list({ Counter: counter })
  expect(compare(before, list({ Counter: counter.replace("Counts.", "Counts on.") }))).toEqual({ gained: [], lost: [] })
  expect(compare(before, list({ Counter: counter.replace("from: number", "from?: number") }))).toEqual({
    gained: ["Counter: const count: (from?: number) => number"],
    lost: before
  })
  const long = (last: string) => list({ Long: `export declare const long: [${"number, ".repeat(200)}${last}];\n` })
  const { gained, lost } = compare(long("string"), long("boolean"))
  expect([gained.length, lost.length]).toEqual([1, 1])
})

/** Modules that the index does not export: for our other packages, or with a peer dependency. */
const beside: Readonly<Record<string, ReadonlyArray<string>>> = {
  http: ["ApplicationLimits", "ClientAddress", "description/ProtocolApi", "description/ProtocolTexts"],
  testing: ["vitest"]
}

/** A module that the bundle of the fake contains. Users cannot import it. */
const bundled = "embed/Layered"

const root = fileURLToPath(new URL("../../../packages/", import.meta.url))
const libraries = ["core", "dispatcher", "embed", "fake", "http", "pages", "postgres", "testing"]

it("every library exports the modules of its index, and nothing else", () => {
  for (const name of libraries) {
    const index = readFileSync(join(root, name, "src/index.ts"), "utf8")
    const modules = [...index.matchAll(/^export .* from "\.\/(\w+)\.ts"$/gm)].map(([, module = ""]) => module)
    expect(modules.length, name).toBeGreaterThan(0)
    expect(modulesOf(join(root, name)), name).toEqual([...new Set(modules), ...beside[name] ?? [], "index"].sort())
  }
})

it("a library imports from others only what they export", () => {
  const sourcesOf = (name: string) =>
    readdirSync(join(root, name, "src"), { encoding: "utf8", recursive: true })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => readFileSync(join(root, name, "src", path), "utf8"))
  const exported = [...libraries, "client"].flatMap((name) =>
    modulesOf(join(root, name)).map((module) => `${name}/${module}`)
  ).concat(bundled)
  const imported = libraries.flatMap(sourcesOf).flatMap((source) =>
    [...source.matchAll(/(?:from |import\()"@startlist\/([^/"]+\/[^"]+)"/g)].map(([, module = ""]) => module)
  )
  expect(imported.length).toBeGreaterThan(libraries.length)
  expect(imported.filter((module) => !exported.includes(module))).toEqual([])
})
