import { loud, run } from "./Run.ts"

/** Raises all packages of a repository: npm their versions, syncpack the ranges in which they name each other. */
export const raise = (folder: string, version: string): void => {
  const flags = ["--workspaces", "--include-workspace-root", "--no-workspaces-update", "--no-git-tag-version"]
  run(folder, "npm", "version", version, ...loud, ...flags)
  run(folder, "syncpack", "fix", "--dependencies", "@startlist/**", "--log-levels", "error")
  run(folder, "npm", "install", "--package-lock-only", "--ignore-scripts", ...loud)
}
