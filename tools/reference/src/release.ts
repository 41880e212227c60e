/** `npm run release -- <version>` prepares a release. `npm run release -- --dry-run` checks that it could be made. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Archives from "./Archives.ts"
import * as Exports from "./Exports.ts"
import { published } from "./Modules.ts"
import { root, run } from "./Run.ts"
import { raise } from "./Versions.ts"

const usage = "npm run release -- --dry-run, or npm run release -- VERSION, where VERSION looks like 1.2.3"

const step = (title: string): void => console.log(`\n== ${title}`)

const fail = (reason: string): never => {
  console.error(reason)
  process.exit(1)
}

const prepare = (version: string): void => {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) fail(`"${version}" is not a version. Usage: ${usage}`)
  const changes = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" })
  if (changes !== "") fail("There are uncommitted changes. Commit or stash them first.")
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8")
  if (!changelog.includes(`\n## ${version}\n`)) fail(`CHANGELOG.md has no section "## ${version}". Add it.`)
  raise(root, version)
  const manifests = join(root, "packaging/kubernetes/kustomization.yaml")
  writeFileSync(manifests, readFileSync(manifests, "utf8").replace(/newTag: .*/, `newTag: ${version}`))
}

/** The list of exports of a package at the last release. */
const listFile = (name: string): string => join(root, "tools/reference/exports", `${name}.txt`)

const showChanges = (name: string, list: ReadonlyArray<string>): void => {
  const before = existsSync(listFile(name)) ? readFileSync(listFile(name), "utf8").trimEnd().split("\n") : []
  const { gained, lost } = Exports.compare(before, list)
  console.log(`@startlist/${name}: ${gained.length} gained, ${lost.length} lost`)
  for (const line of lost) console.log(`- ${line}`)
  for (const line of gained) console.log(`+ ${line}`)
}

const { positionals: [version = ""], values } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean", default: false } }
})
if (values["dry-run"] === (version !== "")) fail(usage)
if (version !== "") prepare(version)

step("Tests")
run(root, "npm", "test")
run(root, "npm", "run", "test:system")
run(root, "npm", "run", "test:measured")
run(root, "npm", "run", "reference:check")

step("Archives")
const folder = mkdtempSync(join(tmpdir(), "startlist-release-"))
const archives = Archives.pack(folder)
for (const [name, archive] of archives) {
  const problems = await Archives.problems(name, archive)
  if (problems.length > 0) fail(`@startlist/${name}:\n${problems.join("\n")}`)
}

step("Exports since the last release")
const lists = published.map((name) => [name, Exports.listOf(join(root, "packages", name))] as const)
for (const [name, list] of lists) showChanges(name, list)

if (version === "") {
  rmSync(folder, { recursive: true })
  step("Everything passed. Nothing was changed.")
} else {
  for (const [name, list] of lists) writeFileSync(listFile(name), `${list.join("\n")}\n`)
  run(root, "git", "add", "--all")
  run(root, "git", "commit", "--quiet", "--message", `Release ${version}`)
  run(root, "git", "tag", `v${version}`)
  step("Everything passed, and is committed and tagged. Publish it with:")
  for (const archive of archives.values()) console.log(`npm publish --loglevel notice --access public ${archive}`)
}
