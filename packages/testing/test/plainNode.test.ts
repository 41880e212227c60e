/** No module of the package needs a test runner or Node, but one. `system/plainNode.test.ts` tries it in a process. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"

const folder = new URL("../src/", import.meta.url)

/** The imports of a module. Types count, because its declarations also import them. */
const importsOf = (name: string): ReadonlyArray<string> =>
  [...readFileSync(new URL(name, folder), "utf8").matchAll(/(?:\bfrom|^import|\bimport\() *"([\w@./:-]+)"/gm)]
    .map(([, specifier = ""]) => specifier)

const modules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))

it("only the module vitest imports vitest, and the others import nothing but Effect, the core and each other", () => {
  const foreign = modules.flatMap((name) =>
    importsOf(name).filter((specifier) => !/^(effect|@startlist\/core)\/|^\.\.?\//.test(specifier))
      .map((specifier) => `${name}: ${specifier}`)
  )
  expect(foreign).toEqual(["vitest.ts: vitest"])
  const users = modules.filter((name) => importsOf(name).some((specifier) => specifier.endsWith("/vitest.ts")))
  expect(users).toEqual([])
})
