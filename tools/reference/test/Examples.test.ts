/** The examples in doc comments compile, and every service of the core has one. */
import { expect, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { published } from "../src/Modules.ts"
import { root } from "../src/Run.ts"

interface Example {
  readonly file: string
  readonly code: string
}

const sources = published.flatMap((name) =>
  readdirSync(join(root, "packages", name, "src"), { encoding: "utf8", recursive: true })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({
      file: `${name}/${file}`,
      text: readFileSync(join(root, "packages", name, "src", file), "utf8")
    }))
)

/** The examples of a file: each goes to the end of its comment. */
const examplesIn = ({ file, text }: typeof sources[number]): ReadonlyArray<Example> =>
  [...text.matchAll(/^ *\* @example\n((?: *\*(?: .*)?\n)+?) *\*\//gm)].map(([, lines = ""]) => ({
    file,
    code: lines.replace(/^ *\* ?/gm, "")
  }))

const examples = sources.flatMap(examplesIn)

/** Output of the compiler. */
const compile = async (): Promise<string> => {
  const folder = join(root, "node_modules/.cache/startlist-examples")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  examples.forEach(({ code, file }, place) => {
    writeFileSync(join(folder, `${place}-${file.replaceAll("/", "-")}`), code)
  })
  const settings = {
    extends: join(root, "tsconfig.test.json"),
    compilerOptions: { incremental: false, tsBuildInfoFile: null, rootDir: root },
    references: [],
    include: ["*.ts"],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc")
  const run = promisify(execFile)(process.execPath, [tsc, "-p", folder, "--pretty", "false"])
  return run.then(({ stdout }) => stdout, ({ stdout }: { readonly stdout: string }) => stdout)
}

it("every service of the core has an example", () => {
  const services = sources.filter(({ file, text }) =>
    file.startsWith("core/") && /^export class \w+\s+extends Context\.Tag/m.test(text) &&
    /^export const layer\b/m.test(text)
  )
  expect(services.length).toBeGreaterThan(5)
  expect(services.filter((one) => examplesIn(one).length === 0).map(({ file }) => file)).toEqual([])
})

it("every example compiles", async () => {
  expect(await compile()).toBe("")
})
