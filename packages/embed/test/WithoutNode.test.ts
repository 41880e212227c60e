/** Bundles the modules for runtimes without Node. */
import { build } from "esbuild"
import { isBuiltin } from "node:module"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** The modules of Node that these modules reach, with those that import them. */
const builtinsBehind = async (...specifiers: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { metafile } = await build({
    stdin: {
      contents: specifiers.map((specifier) => `import ${JSON.stringify(specifier)}`).join("\n"),
      resolveDir: `${root}packages/embed`
    },
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    // Keep unused modules, too.
    treeShaking: false,
    ignoreAnnotations: true,
    format: "esm",
    platform: "node",
    conditions: ["@startlist/source"],
    logLevel: "silent"
  })
  return Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
    imports.filter(({ path }) => isBuiltin(path)).map(({ path }) => `${file} imports ${path}`)
  )
}

it("modules for runtimes without Node import no module of Node", async () => {
  const builtins = await builtinsBehind(
    "@startlist/core",
    "@startlist/pages",
    "@startlist/embed/WebStartlist",
    "@startlist/http/Embedding",
    "@startlist/http/Mount",
    "@startlist/http/Protocol",
    "@startlist/http/WebHttp",
    "@startlist/http/WebSecrets",
    "@startlist/dispatcher/AddressGuard",
    "@startlist/dispatcher/WebCallbacks"
  )
  expect(builtins).toEqual([])
})

it("imports of Node by Startlist, NodeSecrets and Dispatcher are detected", async () => {
  const builtins = await builtinsBehind(
    "@startlist/embed/Startlist",
    "@startlist/http/NodeSecrets",
    "@startlist/dispatcher/Dispatcher"
  )
  expect(builtins).toEqual(expect.arrayContaining([
    "packages/http/src/NodeHttp.ts imports node:buffer",
    "packages/http/src/NodeSecrets.ts imports node:crypto",
    "packages/dispatcher/src/Signature.ts imports node:crypto"
  ]))
})
