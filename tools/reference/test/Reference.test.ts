import { execFile } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { modulesIn, published, sentenceOf } from "../src/Modules.ts"

const folder = fileURLToPath(new URL("..", import.meta.url))

it("the reference has a page for each module, named by its import path, and no warning", async () => {
  const { stderr, stdout } = await promisify(execFile)("npm", ["run", "reference"], { cwd: folder })
  expect(`${stdout}${stderr}`).not.toContain("warning")
  const page = (name: string) => readFileSync(join(folder, "dist", name), "utf8")
  const index = page("README.md")
  const modules = published.flatMap(modulesIn)
  expect(modules.map(({ importPath }) => importPath)).toEqual(
    expect.arrayContaining(["@startlist/client", "@startlist/fake/Fake", "@startlist/core/Grant"])
  )
  for (const module of modules) {
    expect(index).toContain(module.importPath)
    expect(index, module.importPath).toContain(sentenceOf(module))
    expect(existsSync(join(folder, "dist", `${module.importPath}/README.md`)), module.importPath).toBe(true)
  }
  expect(page("@startlist/core/Grant/namespaces/GrantStore/interfaces/Service.md")).toContain(
    "Saves `change.grant` over its previous version"
  )
})
