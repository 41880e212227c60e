import { execFileSync } from "node:child_process"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

/** Folder of the repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url))

/** Flags of npm: print errors, which `.npmrc` hides. */
export const loud = ["--loglevel", "error"]

const programs = ["tools/reference/node_modules/.bin", "node_modules/.bin"].map((folder) => join(root, folder))
const env = { ...process.env, PATH: [...programs, process.env["PATH"]].join(delimiter) }

/** Runs a program, or one of a development dependency, and shows its output. Throws if it fails. */
export const run = (folder: string, program: string, ...args: ReadonlyArray<string>): void => {
  execFileSync(program, args, { cwd: folder, env, stdio: "inherit" })
}
