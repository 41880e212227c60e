/** Packs the published packages and checks the archives like a consumer. */
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { modulesOf } from "./Exports.ts"
import { published } from "./Modules.ts"
import { root, run } from "./Run.ts"

/** Builds the packages and packs them into a folder; returns the archive of each. */
export const pack = (folder: string): ReadonlyMap<string, string> => {
  run(root, "node", "tools/scripts/pack.mjs", "--to", folder)
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  return new Map(published.map((name) => [name, join(folder, `startlist-${name}-${version}.tgz`)]))
}

/** The packages are ESM only: CommonJS without `require(esm)` and resolution without `exports` are not supported. */
const unsupported = new Set(["node10", "node16-cjs"])

/** Resolves the types of every exported module by the rules of Node and of bundlers; returns what is wrong. */
const typeProblems = async (name: string, archive: string): Promise<ReadonlyArray<string>> => {
  const modules = modulesOf(join(root, "packages", name))
  // The service exports nothing.
  if (modules.length === 0) return []
  const analysis = await checkPackage(createPackageFromTarballData(readFileSync(archive)), {
    entrypoints: modules.map((module) => module === "index" ? "." : `./${module}`)
  })
  if (analysis.types === false) return ["The archive has no types."]
  return analysis.problems
    .filter((problem) => !("resolutionKind" in problem && unsupported.has(problem.resolutionKind)))
    .map((problem) => JSON.stringify(problem))
}

/** Checks one archive with publint and arethetypeswrong. Throws if something is wrong. */
export const check = async (name: string, archive: string): Promise<void> => {
  run(root, "publint", "run", archive, "--strict")
  const problems = await typeProblems(name, archive)
  if (problems.length > 0) throw new Error(`The types of @startlist/${name} do not resolve:\n${problems.join("\n")}`)
}
