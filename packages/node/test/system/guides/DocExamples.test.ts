/** The examples in doc comments compile, and every service of the core has one. */
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../../../", import.meta.url))

/** The examples by package and number. */
const examples = readdirSync(join(root, "packages")).flatMap((name) =>
  readdirSync(join(root, "packages", name), { encoding: "utf8", recursive: true })
    .filter((path) => /^src\/.*\.tsx?$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(root, "packages", name, path), "utf8")
      return [...text.matchAll(/ \* @example\n \* ```ts\n((?: \*.*\n)*?) \* ```/g)].map(([, code = ""], place) => ({
        file: `${name}-${path.replaceAll(/\W/g, "-")}-${place}.ts`,
        code: code.replaceAll(/^ \* ?/gm, "")
      }))
    })
)

it("the examples in doc comments compile", async () => {
  expect(examples.length).toBeGreaterThan(5)
  const folder = join(root, "node_modules/.cache/startlist-examples")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { code, file } of examples) writeFileSync(join(folder, file), code)
  const settings = {
    extends: join(root, "tsconfig.test.json"),
    compilerOptions: { incremental: false, tsBuildInfoFile: null, rootDir: root, noUnusedLocals: false },
    references: [],
    include: ["*.ts"],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc")
  const run = promisify(execFile)(process.execPath, [tsc, "-p", folder, "--pretty", "false"])
  expect(await run.then(({ stdout }) => stdout, ({ stdout }: { readonly stdout: string }) => stdout)).toBe("")
})

it("every service of the core has an example", () => {
  const folder = join(root, "packages/core/src")
  const texts = readdirSync(folder).filter((path) => path.endsWith(".ts")).map((path) => ({
    path,
    text: readFileSync(join(folder, path), "utf8")
  }))
  const services = texts.filter(({ text }) => /\bContext\.Tag\(/.test(text) && /^export const layer\b/m.test(text))
  expect(services.length).toBeGreaterThan(5)
  expect(services.filter(({ text }) => !text.includes(" * @example\n")).map(({ path }) => path)).toEqual([])
})
