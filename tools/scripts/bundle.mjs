/**
 * Bundles a package for users who have another Effect, or none: `dist/bundle` gets its modules with all that they import from this
 * repository, and their types, which may name nothing of it.
 */
import { build } from "esbuild"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { licensesOf } from "./licenses.mjs"

const root = fileURLToPath(new URL("../../", import.meta.url))

const nameOf = (specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0]

/** The types of a module and of all that it imports. Fails if they name a package that users need not have. */
const typesBehind = (dist, entries, dependencies) => {
  const found = new Set()
  const visit = (path) => {
    if (found.has(path)) return
    found.add(path)
    const text = readFileSync(path, "utf8").replace(/\/\*[\s\S]*?\*\//g, "")
    for (const [, specifier] of text.matchAll(/(?:\bfrom |\bimport |\bimport\()"([^"]+)"/g)) {
      if (specifier.startsWith(".")) visit(join(dirname(path), specifier.replace(/\.tsx?$/, ".d.ts")))
      else if (!specifier.startsWith("node:") && !dependencies.includes(nameOf(specifier))) {
        throw new Error(
          `The types in ${relative(root, path)} need ${specifier}, which users of this package need not have.`
        )
      }
    }
  }
  for (const entry of entries) visit(join(dist, `${entry}.d.ts`))
  return [...found]
}

/**
 * Bundles modules of a package by name. Those in `web` import nothing of Node. Dependencies in its package.json stay
 * outside, except those in `inside`, of which users need only the types.
 */
export const bundle = async (folder, { inside = [], node, web = [] }) => {
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8")
  )
  const dist = join(folder, "dist")
  const outdir = join(dist, "bundle")
  const outside = Object.keys({ ...dependencies, ...optionalDependencies })
  rmSync(outdir, { recursive: true, force: true })
  const settings = {
    absWorkingDir: root,
    outdir,
    conditions: ["@startlist/source"],
    bundle: true,
    // Modules that are loaded on demand stay separate.
    splitting: true,
    format: "esm",
    target: "node20",
    external: [...outside.filter((name) => !inside.includes(name)), "pg-native"],
    minifySyntax: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning"
  }
  const inputs = (names) => Object.fromEntries(names.map((name) => [name, join(folder, "src", `${name}.ts`)]))
  const { metafile } = await build({
    ...settings,
    entryPoints: inputs(node),
    platform: "node",
    // For bundled CommonJS modules.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"
    }
  })
  writeFileSync(join(outdir, "LICENSES.txt"), licensesOf(Object.keys(metafile.inputs)))
  if (web.length > 0) {
    const { metafile } = await build({
      ...settings,
      entryPoints: inputs(web),
      chunkNames: "web-[name]-[hash]",
      platform: "browser"
    })
    const ofNode = Object.values(metafile.outputs).flatMap(({ imports }) => imports)
      .find(({ path }) => path.startsWith("node:") || builtinModules.includes(path))
    if (ofNode !== undefined) throw new Error(`A module without Node imports ${ofNode.path}.`)
  }
  for (const path of typesBehind(dist, [...node, ...web], outside)) {
    const target = join(outdir, relative(dist, path))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, readFileSync(path, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, ""))
  }
}
