import { afterAll, expect, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runProgram } from "../../src/RunProgram.ts"

const folder = mkdtempSync(join(tmpdir(), "startlist-prose-"))
afterAll(() => rmSync(folder, { recursive: true }))

const script = fileURLToPath(new URL("../../../scripts/prose.mjs", import.meta.url))

/** Runs the linter on a file. Returns its exit status and the lines with findings. */
const check = async (name: string, content: string) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  const { status, stderr } = await runProgram(process.execPath, [script, path])
  const lines = [...stderr.matchAll(/^.*?:(\d+): /gm)].map(([, line]) => Number(line))
  return { status, lines: [...new Set(lines)] }
}

const planted = [
  "So many keys are remembered.",
  "So long the body may take to arrive.",
  "Callers come back together for ever.",
  "Each refresh starts the time anew.",
  "Meanwhile the worker waits.",
  "The request is answered at once.",
  "Whoever waits for the lock finds the work done.",
  "Ten requests are in the works.",
  "A copy of a running database is none.",
  "Who waits for slots is nobody."
]

it("each of ten sentences of the old kind is found in documentation", async () => {
  const { lines, status } = await check("guide.md", `${planted.join("\n\n")}\n`)
  expect(status).toBe(1)
  expect(lines).toEqual(planted.map((_, index) => 1 + 2 * index))
})

it("they are found in comments and messages, at their lines", async () => {
  const sources = planted.map((text, index) => index % 2 === 0 ? `/** ${text} */` : `console.log(\`${text} \${1}\`)`)
  const { lines, status } = await check("source.ts", `${sources.join("\n")}\n`)
  expect(status).toBe(1)
  expect(lines).toEqual(planted.map((_, index) => 1 + index))
})

it("names and code are not prose", async () => {
  const source = "const anew = 1\nexport const isNone = (whoever: string) => whoever === \"meanwhile\" && anew === 1\n"
  expect(await check("code.ts", source)).toEqual({ status: 0, lines: [] })
  expect(await check("code.md", "Run `at once` now.\n\n```\nfor ever\n```\n")).toEqual({ status: 0, lines: [] })
})

it("a sentence of more than 35 words is found, and a mean of 16 words", async () => {
  const sentence = (words: number) => `Word${" word".repeat(words - 1)}.`
  expect(await check("long.md", `${"Short. ".repeat(9)}${sentence(36)}\n`)).toEqual({ status: 1, lines: [1] })
  expect((await check("mean.md", `${sentence(16)}\n`)).status).toBe(1)
  expect((await check("good.md", `${sentence(35)} ${"Short. ".repeat(9)}\n`)).status).toBe(0)
})
