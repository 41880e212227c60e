/** Histories of grants on two real nodes over one real PostgreSQL while faults happen. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { check } from "@startlist/model/histories/Checker"
import { explain, run } from "./Histories.ts"
import { kinds } from "@startlist/model/histories/History"

describe("histories of grants", () => {
  it.live(
    "on two nodes, while faults happen, some order of its operations explains each history",
    () =>
      Effect.gen(function*() {
        const { counterexample, explained, faults, operations, undecided, unknown } = yield* run({
          nodes: 2,
          minutes: 1 / 3,
          seed: 1
        })
        expect(counterexample && explain(counterexample)).toBe(undefined)
        expect(undecided).toBe(0)
        expect(explained).toBeGreaterThan(5)
        expect(kinds.filter((kind) => operations[kind] === 0)).toEqual([])
        expect(unknown).toBeGreaterThan(0)
        expect(Object.values(faults).reduce((sum, count) => sum + count)).toBeGreaterThan(5)
      })
  )

  it.live(
    "on a node that saves without comparing versions, a counterexample has at most six operations",
    () =>
      Effect.gen(function*() {
        const { counterexample } = yield* run({ nodes: 2, minutes: 1, seed: 1, planted: 1 })
        const { history = [], shrunk = [] } = counterexample ?? {}
        expect(check(history)).toBe("unexplained")
        expect(check(shrunk)).toBe("unexplained")
        expect(shrunk.length).toBeGreaterThan(0)
        expect(shrunk.length).toBeLessThanOrEqual(6)
      })
  )
})
