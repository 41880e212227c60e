/**
 * `npm run pack -- --to FOLDER [NAME…]`: builds the published packages, or some of them such as `node`, and writes an archive of
 * each that `npm install` takes. Prints the path of each archive.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const packages = fileURLToPath(new URL("../../packages/", import.meta.url))

const isPublished = (name) => {
  const file = join(packages, name, "package.json")
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).private !== true
}

const published = readdirSync(packages).filter(isPublished)

const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}

const { positionals, values: { to } } = parseArgs({ allowPositionals: true, options: { to: { type: "string" } } })
if (to === undefined) fail("Name the folder for the archives: npm run pack -- --to FOLDER")
const unknown = positionals.find((name) => !published.includes(name))
if (unknown !== undefined) fail(`There is no package "${unknown}" but ${published.join(", ")}.`)

// npm runs a script in the folder of its package.json. The user is in this one.
const folder = resolve(process.env["INIT_CWD"] ?? ".", to)
mkdirSync(folder, { recursive: true })
for (const name of positionals.length === 0 ? published : positionals) {
  const flags = ["pack", "--json", "--loglevel=error", "--pack-destination", folder]
  const said = execFileSync("npm", flags, { cwd: join(packages, name), encoding: "utf8", stdio: ["ignore", "pipe", 2] })
  // After the output of the scripts.
  const [{ filename }] = JSON.parse(said.slice(said.lastIndexOf("\n[\n") + 1))
  console.log(join(folder, filename))
}
