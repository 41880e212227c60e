import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { mutants } from "./system/mutants/mutants.ts"

const source = (file: string) => readFileSync(fileURLToPath(new URL(`../../core/src/${file}`, import.meta.url)), "utf8")

it("every planted fault still has its place in the sources, once, and changes it", () => {
  const misplaced = mutants.filter(({ file, from, to }) => source(file).split(from).length !== 2 || from === to)
  expect(misplaced.map(({ file, name }) => `${file}: ${name}`)).toStrictEqual([])
})

it("at least forty faults are planted, each once", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(40)
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})
