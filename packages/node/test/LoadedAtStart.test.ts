/** Bundles the program as its build does. */
import { build } from "esbuild"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** The dependencies whose code is loaded with these modules. Those that they load on demand do not count. */
const loadedWith = async (...modules: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { metafile: { outputs } } = await build({
    entryPoints: modules.map((module) => `packages/node/src/${module}`),
    absWorkingDir: root,
    outdir: "anywhere",
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    conditions: ["@startlist/source"],
    external: ["@electric-sql/pglite", "@node-rs/argon2", "@node-rs/bcrypt", "pg-native"]
  })
  const isMeant = new Set(modules.map((module) => `packages/node/src/${module}`))
  const loaded = new Set(
    Object.entries(outputs).flatMap(([path, { entryPoint = "" }]) => isMeant.has(entryPoint) ? [path] : [])
  )
  for (const path of loaded) {
    for (const { kind, path: imported } of outputs[path]?.imports ?? []) {
      if (kind !== "dynamic-import" && imported in outputs) loaded.add(imported)
    }
  }
  const inputs = [...loaded].flatMap((path) => Object.entries(outputs[path]?.inputs ?? {}))
  return [
    ...new Set(
      inputs.flatMap(([file, { bytesInOutput }]) =>
        bytesInOutput === 0 ? [] : /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []
      )
    )
  ].sort()
}

const always = [
  "@effect/experimental",
  "@effect/platform",
  "@effect/platform-node",
  "@effect/platform-node-shared",
  "@effect/sql",
  "cookie",
  "effect",
  "fastest-levenshtein",
  "ipaddr.js"
]

// Each one takes memory and time at every start. A dependency that few requests need is loaded by the first of them.
it("the service and the commands load no other dependency at their start", async () => {
  expect(await loadedWith("main.ts", "Program.ts", "Serve.ts", "Service.ts")).toEqual([
    ...always,
    "preact",
    "preact-render-to-string"
  ])
  expect(
    (await loadedWith("main.ts", "Program.ts", "commands/CommandLine.ts")).filter((name) => !always.includes(name))
  )
    .toEqual(["@effect/cli", "@effect/printer", "@effect/printer-ansi", "@effect/typeclass"])
})
