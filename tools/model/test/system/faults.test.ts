/** Every fault of stores is found: by the laws, by programs, by the simulation. `npm run faults` shows by which law. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Simulation from "../../src/Simulation.ts"
import { byPrograms, firstBroken, inMemory, isHarmless, simulated } from "../faults/detect.ts"
import { isInStores } from "../faults/Fault.ts"
import { faults } from "../faults/faults.ts"

for (const fault of faults.filter(isInStores)) {
  const { programs, simulation, storeLaws } = fault.foundBy
  describe(fault.name, () => {
    if (storeLaws === true) {
      it("breaks a law of the stores", async () => {
        const law = await firstBroken(fault, inMemory)
        expect(law !== undefined).toBe(!isHarmless(fault, "memory"))
      })
    }
    if (programs !== undefined) {
      it("is shown by a program of at most six operations", async () => {
        const { error, operations, report } = await byPrograms(fault, 500)
        expect(error).toContain("LawBroken")
        expect(operations, report).toBeLessThanOrEqual(6)
        console.log(report)
      })
    }
    if (simulation === undefined) return
    it.live("is shown by a short simulation", () =>
      Effect.gen(function*() {
        const { counterexample, outcome } = yield* Effect.flip(
          Simulation.check({ ...simulated(fault), from: simulation.seed, seeds: 60 })
        )
        expect(simulation.laws, counterexample).toContain(outcome.violation?.law)
        expect(outcome.steps.length, counterexample).toBeLessThanOrEqual(simulation.steps ?? 8)
        expect(counterexample).toContain(`law ${outcome.violation?.law} does not hold`)
      }))
  })
}
