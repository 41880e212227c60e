import { expect, it } from "@effect/vitest"
import { join } from "node:path"
import { modulesIn, published, sentenceOf } from "../../reference/src/Modules.ts"
import { root } from "../../reference/src/Run.ts"

const introduction = `# Modules

This page lists each module of the published packages. Read it if you use Startlist as a library. The path of a module is
also the path of its import.

\`npm run reference\` writes the full reference to \`tools/reference/dist\`: a page for each module, with all its types. The
HTTP API is in [openapi.json](../openapi.json), and the events are in [asyncapi.json](../asyncapi.json).
`

it("docs/evidence/modules.md lists every module with a sentence: vitest -u writes it", async () => {
  const packages = published.map(modulesIn).filter((modules) => modules.length > 0)
  const sections = packages.map((modules) => {
    const items = modules.map((module) => `- \`${module.importPath}\`: ${sentenceOf(module)}`)
    return `## \`${modules[0]?.importPath}\`\n\n${items.join("\n")}\n`
  })
  const without = packages.flat().filter((module) => !/^[A-Z`].*\.$/.test(sentenceOf(module)))
  expect(without.map(({ importPath }) => importPath)).toEqual([])
  await expect([introduction, ...sections].join("\n")).toMatchFileSnapshot(join(root, "docs/evidence/modules.md"))
})
