/** Without vitest, every module of the package can be imported but `vitest`. */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { describe, expect, it } from "vitest"

const folder = fileURLToPath(new URL("../../src/", import.meta.url))

const modules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))

/** A process in which vitest cannot be found. */
const hooks = `export const resolve = (specifier, context, next) => {
  if (/^(@effect\\/)?vitest($|\\/)/.test(specifier)) throw new Error("vitest is imported by " + context.parentURL)
  return next(specifier, context)
}`
const register = `import { register } from "node:module"
register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(hooks))})`

/** Runs a script to its end. Gives what the process has written to its standard error. */
const running = (script: string): Promise<string> =>
  new Promise((resolve) => {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/VITEST|NODE_OPTIONS/.test(name)))
    const hook = `data:text/javascript,${encodeURIComponent(register)}`
    const flags = ["--import", hook, "--import", "tsx", "--conditions=@startlist/source", "--input-type=module"]
    execFile(process.execPath, [...flags, "--eval", script], { env, timeout: 60_000 }, (error, _, stderr) =>
      resolve(error === null ? stderr : `${error.message}\n${stderr}`))
  })

const url = (name: string) => JSON.stringify(pathToFileURL(folder + name).href)

/** Imports these modules. */
const importing = (names: ReadonlyArray<string>): Promise<string> =>
  running(names.map((name) => `await import(${url(name)})`).join("\n"))

describe("in plain Node without vitest", () => {
  it("every module but vitest can be imported", async () => {
    expect(modules.length).toBeGreaterThan(40)
    expect(await importing(modules.filter((name) => name !== "vitest.ts"))).toBe("")
  })

  it("vitest cannot", async () => {
    expect(await importing(["vitest.ts"])).toContain("vitest is imported by")
  })
})
