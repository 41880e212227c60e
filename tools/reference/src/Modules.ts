/** The modules that the published packages export, each with its import path and a sentence. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Run.ts"

type Targets = Readonly<Record<string, { readonly types?: string } | string | null>>

/** The key of `exports` that Node uses for a path: the path itself, or the pattern with the longest beginning. */
const keyOf = (exports: Targets, path: string): string | undefined =>
  path in exports ? path : Object.keys(exports)
    .filter((key) => key.endsWith("*") && path.startsWith(key.slice(0, -1)) && path.length >= key.length)
    .sort((one, other) => other.length - one.length)[0]

/** Returns the modules for which `exports` in `package.json` names types: `index`, `Router`, … */
export const modulesOf = (folder: string): ReadonlyArray<string> => {
  const { exports }: { readonly exports: Targets } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const built = existsSync(join(folder, "dist/bundle")) ? "dist/bundle" : "dist"
  const [source, pattern] = existsSync(join(folder, "src")) ? ["src", /^(.*)\.tsx?$/] : [built, /^(.*)\.d\.ts$/]
  return readdirSync(join(folder, source), { encoding: "utf8", recursive: true })
    .flatMap((path) => pattern.exec(path.replaceAll("\\", "/"))?.[1] ?? [])
    .filter((name) => {
      const key = keyOf(exports, name === "index" ? "." : `./${name}`)
      const target = key === undefined ? undefined : exports[key]
      return typeof target === "object" && target?.types !== undefined
    })
    .sort()
}

const manifestOf = (name: string) => JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"))

/** Names of the folders below `packages/` that are published. */
export const published: ReadonlyArray<string> = readdirSync(join(root, "packages"))
  .filter((name) => existsSync(join(root, "packages", name, "package.json")))
  .filter((name) => manifestOf(name).private !== true)

export interface Module {
  /** For example `@startlist/core/Grant`. */
  readonly importPath: string
  readonly file: string
  /** The doc comment at the beginning of the file. */
  readonly comment: string
}

const commentOf = (source: string): string => {
  const [, text = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(source) ?? []
  return text.split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n").trim()
}

/** The modules of a package, by import path. */
export const modulesIn = (name: string): ReadonlyArray<Module> =>
  modulesOf(join(root, "packages", name)).map((module) => {
    const file = join(root, "packages", name, "src", `${module}.ts`)
    const importPath = module === "index" ? `@startlist/${name}` : `@startlist/${name}/${module}`
    return { importPath, file, comment: commentOf(readFileSync(file, "utf8")) }
  }).sort((one, other) => one.importPath < other.importPath ? -1 : 1)

/** The first sentence of a module's comment. */
export const sentenceOf = ({ comment }: Module): string => {
  const [paragraph = ""] = comment.split("\n\n")
  return paragraph.replaceAll("\n", " ").replace(/(?<=\.)\s+(?=[A-Z`]).*$/, "")
}
