import { expect, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))

/** Indentation is the page's own. */
const unindented = (code: string): string => code.split("\n").map((line) => line.trim()).join("\n")

const sources = readdirSync(join(root, "examples"))
  .flatMap((example) => ["src", "test"].map((folder) => join(root, "examples", example, folder)))
  .flatMap((folder) => readdirSync(folder).filter((file) => file.endsWith(".ts")).map((file) => join(folder, file)))
  .map((file) => unindented(readFileSync(file, "utf8")))

const snippets = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)]
  .map(([, code = ""]) => unindented(code).trim())

it("every piece of code in the README stands in an example, and so is compiled and run", () => {
  expect(snippets.length).toBeGreaterThanOrEqual(3)
  for (const snippet of snippets) {
    expect(sources.some((source) => source.includes(snippet)), snippet).toBe(true)
  }
})
