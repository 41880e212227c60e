/** Packs the published packages and checks the archives like a consumer. */
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { modulesOf, published } from "./Modules.ts"
import { root, run } from "./Run.ts"

/** Builds the packages and packs them into a folder. Returns the archive of each. */
export const pack = (folder: string): ReadonlyMap<string, string> => {
  run(root, "node", "tools/scripts/pack.mjs", "--to", folder)
  return packedIn(folder)
}

/** The archive of each package in a folder. */
export const packedIn = (folder: string): ReadonlyMap<string, string> => {
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

/** Problems of the `package.json` of an archive. Our own conditions are for this repository, which has the sources. */
const manifestProblems = async (archive: string): Promise<ReadonlyArray<string>> => {
  const tarball = Uint8Array.from(readFileSync(archive)).buffer
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
  return messages
    .filter(({ path }) => !path.some((key) => key.startsWith("@startlist/")))
    .map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
}

/** Problems that consumers of one archive would have, by publint and arethetypeswrong. */
export const problems = async (name: string, archive: string): Promise<ReadonlyArray<string>> => [
  ...await manifestProblems(archive),
  ...await typeProblems(name, archive)
]
