import { expect, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

const read = (program: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(program, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

it("the compiler checks every TypeScript file of the repository", () => {
  const { references }: { readonly references: ReadonlyArray<{ readonly path: string }> } = JSON.parse(
    readFileSync(join(root, "tsconfig.json"), "utf8")
  )
  // The packages of these two are installed apart: `npm run bench:check` and `npm run reference:check` check them.
  const apart = ["tools/bench", "tools/reference"].flatMap((path) => [path, `${path}/tsconfig.test.json`])
  const paths = [...references.map(({ path }) => path), ...apart]
  const checked = new Set(paths.flatMap((path) => {
    const folder = path.endsWith(".json") ? dirname(path) : path
    const tsc = join(root, "node_modules/.bin/tsc")
    const { files }: { readonly files: ReadonlyArray<string> } = JSON.parse(read(tsc, "--showConfig", "-p", path))
    return files.map((file) => relative(root, join(root, folder, file)))
  }))
  const tracked = read("git", "ls-files", "*.ts", "*.tsx").trimEnd().split("\n")
  expect(tracked.length).toBeGreaterThan(500)
  expect(tracked.filter((file) => !checked.has(file))).toEqual([])
})
