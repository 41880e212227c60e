/** The examples in doc comments compile. */
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../..", import.meta.url))

/** The code of each `@example` of a source. */
const examplesIn = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/^ *\* @example\n *\* ```ts\n((?: *\*.*\n)*?) *\* ```/gm)].map(([, lines = ""]) =>
    lines.replaceAll(/^ *\* ?/gm, "")
  )

const examples = readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
  .filter((path) => /^\w+\/src\/.*\.tsx?$/.test(path))
  .flatMap((path) =>
    examplesIn(readFileSync(join(root, "packages", path), "utf8")).map((code, place) => ({
      name: `${path.replaceAll("/", "_").replace(/\.tsx?$/, "")}_${place}`,
      code
    }))
  )

it("every example in a doc comment compiles, and the packages for other people have some", async () => {
  for (const name of ["client", "dispatcher", "embed", "fake"]) {
    expect(examples.some((example) => example.name.startsWith(`${name}_src_`)), name).toBe(true)
  }
  const folder = join(root, "node_modules/.cache/startlist-examples")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { code, name } of examples) writeFileSync(join(folder, `${name}.ts`), code)
  const settings = {
    extends: join(root, "tsconfig.test.json"),
    compilerOptions: { incremental: false, tsBuildInfoFile: null, rootDir: root, noUnusedLocals: false },
    references: [],
    include: ["*.ts"],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc")
  const said = await promisify(execFile)(process.execPath, [tsc, "-p", folder, "--pretty", "false"])
    .catch(({ stdout }: { readonly stdout: string }) => ({ stdout }))
  expect(said.stdout).toBe("")
})
