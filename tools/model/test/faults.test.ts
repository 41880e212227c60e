import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Simulation from "../src/Simulation.ts"
import { byProgram, simulated } from "./faults/detect.ts"
import { isInCore, isInStores } from "./faults/Fault.ts"
import { faults } from "./faults/faults.ts"
import { table } from "./faults/table.ts"

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8")

describe("planted faults", () => {
  it("have names of their own, and tests that find them", () => {
    expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length)
    expect(faults.filter(({ foundBy }) => Object.keys(foundBy).length === 0)).toEqual([])
  })

  it("in the core have a place in its sources, once, and change it", () => {
    const misplaced = faults.filter(isInCore).filter(({ plant: { file, from, to } }) =>
      read(`packages/core/src/${file}`).split(from).length !== 2 || from === to
    )
    expect(misplaced.map(({ name }) => name)).toEqual([])
  })

  it("are those of docs/evidence/faults.md (npm run mutants -- --table > docs/evidence/faults.md)", () => {
    expect(read("docs/evidence/faults.md")).toBe(table(faults))
  })
})

const inStores = faults.filter(isInStores)

// The system tier searches for other programs.
describe("a program is known to show that", () => {
  for (const fault of inStores) {
    const { programs: program } = fault.foundBy
    if (program === undefined || program === true) continue
    it(fault.name, async () => {
      const { broken, without } = await byProgram(fault, program)
      expect(broken).toContain("LawBroken")
      expect(without).toBeUndefined()
    })
  }
})

// The system tier shrinks what it finds.
describe("the simulation shows that", () => {
  for (const fault of inStores) {
    const { simulation } = fault.foundBy
    if (simulation === undefined) continue
    it.live(fault.name, () =>
      Effect.gen(function*() {
        // The first seed shows it, unless operations were added or removed since.
        for (let seed = simulation.seed; seed < simulation.seed + 60; seed++) {
          const { violation } = yield* Simulation.run({ ...simulated(fault), seed })
          if (violation !== undefined) return expect(simulation.laws, violation.message).toContain(violation.law)
        }
        expect.fail(`not found in 60 seeds from ${simulation.seed}`)
      }))
  }
})
