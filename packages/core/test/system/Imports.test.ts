/** The modules that an import of the core loads. */
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const folder = fileURLToPath(new URL("../..", import.meta.url))

/** Every import that a process makes that does nothing but import the core: importer and imported. */
const imports = async (): Promise<ReadonlyArray<readonly [by: string, what: string]>> => {
  const hook = new URL("./recordImports.mjs", import.meta.url).href
  const options = ["--import", "tsx", "--import", hook, "--conditions=@startlist/source", "--input-type=module"]
  const program = "await import(\"@startlist/core\")"
  const { stderr } = await promisify(execFile)(process.execPath, [...options, "--eval", program], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024
  })
  return stderr.split("\n").filter((line) => line.startsWith("[")).map((line) => JSON.parse(line))
}

/** The package of a module, or `core`, or what else it is. */
const packageOf = (url: string): string =>
  url.startsWith(new URL("../../src/", import.meta.url).href)
    ? "core"
    : /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1] ?? url

it("importing the core loads its own modules, those of effect, and what effect itself depends on", async () => {
  const made = await imports()
  const ours = made.filter(([by]) => packageOf(by) === "core")
  const modules = new Set(ours.map(([, what]) => packageOf(what)))
  expect([...modules].sort()).toEqual(["core", "effect"])

  const effect: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(new URL("../../../../node_modules/effect/package.json", import.meta.url), "utf8")
  )
  const dependencies = Object.keys(effect.dependencies)
  const theirs = new Set(made.filter(([by]) => packageOf(by) === "effect").map(([, what]) => packageOf(what)))
  for (const name of theirs) expect(["effect", ...dependencies]).toContain(name)

  const files = readdirSync(new URL("../../src", import.meta.url)).filter((name) => name.endsWith(".ts"))
  const loaded = new Set(ours.map(([, what]) => what.slice(what.lastIndexOf("/") + 1).replace(/\?.*$/, "")))
  for (const file of files.filter((name) => name !== "index.ts")) expect(loaded).toContain(file)
})
