import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"

const folder = new URL("../../../examples/own-store/", import.meta.url)

/** Indentation is the page's own. */
const unindented = (code: string): string => code.split("\n").map((line) => line.trim()).join("\n").trim()

const sources = ["src/", "test/", "test/system/"].flatMap((part) =>
  readdirSync(new URL(part, folder)).filter((name) => name.endsWith(".ts"))
    .map((name) => unindented(readFileSync(new URL(part + name, folder), "utf8")))
)

const page = readFileSync(new URL("../../docs/stores.md", folder), "utf8")

it("every piece of code in docs/stores.md stands in the example of stores", () => {
  const snippets = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => unindented(code))
  expect(snippets.length).toBeGreaterThanOrEqual(6)
  for (const snippet of snippets) expect(sources.some((source) => source.includes(snippet)), snippet).toBe(true)
})

it("docs/stores.md names every group of laws", async () => {
  const { StoreLaws } = await import("@startlist/testing")
  const missing = StoreLaws.laws.map(({ about }) => about).filter((about) => !page.includes(`| ${about} `))
  expect(missing).toEqual([])
})
