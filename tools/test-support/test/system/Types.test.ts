import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { outputOf } from "../../src/RunProgram.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

const read = (program: string, ...args: ReadonlyArray<string>): Promise<string> =>
  outputOf(program, args, { cwd: root })

it("the compiler checks every TypeScript file of the repository", async () => {
  const { references }: { readonly references: ReadonlyArray<{ readonly path: string }> } = JSON.parse(
    readFileSync(join(root, "tsconfig.json"), "utf8")
  )
  // The packages of these two are installed apart: `npm run bench:check` and `npm run reference:check` check them.
  const apart = ["tools/bench", "tools/reference"].flatMap((path) => [path, `${path}/tsconfig.test.json`])
  const paths = [...references.map(({ path }) => path), ...apart]
  const checked = new Set<string>()
  for (const path of paths) {
    const folder = path.endsWith(".json") ? dirname(path) : path
    const tsc = join(root, "node_modules/.bin/tsc")
    const { files }: { readonly files: ReadonlyArray<string> } = JSON.parse(await read(tsc, "--showConfig", "-p", path))
    for (const file of files) checked.add(relative(root, join(root, folder, file)))
  }
  const tracked = (await read("git", "ls-files", "*.ts", "*.tsx")).trimEnd().split("\n")
  expect(tracked.length).toBeGreaterThan(500)
  expect(tracked.filter((file) => !checked.has(file))).toEqual([])
})
