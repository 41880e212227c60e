/** The modules that the published packages export, each with its import path and a sentence. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { modulesOf } from "./Exports.ts"
import { root } from "./Run.ts"

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
