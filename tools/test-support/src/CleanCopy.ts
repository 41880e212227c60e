/**
 * A copy of the repository without built files, as in a clean clone. It uses the external packages that are installed here, so
 * nothing is downloaded.
 */
import { Effect, type Scope } from "effect"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { outputOf } from "./RunProgram.ts"

/** Path of this repository. */
export const repository = fileURLToPath(new URL("../../../", import.meta.url))

/** Names of the published packages. */
export const published = [
  "client",
  "core",
  "dispatcher",
  "embed",
  "fake",
  "http",
  "node",
  "pages",
  "postgres",
  "testing"
]

const passed =
  /^(?:PATH|HOME|TMPDIR|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy|npm_config_(?:cache|registry|userconfig))$/i

/** The variables that a program needs, without those that `npm test` sets. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name)))

/** Runs a program in a folder to its end. Returns its output; rejects with all of it if the status is not 0. */
export const execute = (
  folder: string,
  program: string,
  args: ReadonlyArray<string>,
  more: Readonly<Record<string, string>> = {}
): Promise<string> => outputOf(program, args, { cwd: folder, env: { ...environment, ...more } })

/** An empty folder that every user may read. It is removed with the scope. */
export const emptyFolder = (name: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), `startlist-${name}-`))
      await execute(folder, "chmod", ["0755", folder])
      return folder
    }),
    (folder) =>
      Effect.promise(async () => {
        await execute(folder, "chmod", ["-R", "u+w", folder])
        rmSync(folder, { recursive: true, force: true })
      })
  )

const isMade = new Set(["node_modules", "dist", ".git", ".startlist", "coverage", "test"])

const linkAll = (from: string, to: string): void => {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    if (name !== "@startlist" && name !== ".cache") symlinkSync(join(from, name), join(to, name))
  }
}

/** A copy. It is removed with the scope. */
export const make: Effect.Effect<string, never, Scope.Scope> = Effect.map(emptyFolder("copy"), (folder) => {
  cpSync(repository, folder, { recursive: true, filter: (path) => !isMade.has(basename(path)) })
  linkAll(join(repository, "node_modules"), join(folder, "node_modules"))
  mkdirSync(join(folder, "node_modules/@startlist"))
  for (const group of ["packages", "tools"]) {
    // Git leaves the folder of a removed package if something was built in it.
    const packages = readdirSync(join(folder, group)).filter((name) =>
      existsSync(join(folder, group, name, "package.json"))
    )
    for (const name of packages) {
      symlinkSync(join(folder, group, name), join(folder, "node_modules/@startlist", name))
    }
  }
  return folder
})
