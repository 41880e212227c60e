/** Every fault of stores is noticed, in copies of the stores in memory. `npm run faults` shows by which law. */
import { describe, expect, it } from "vitest"
import { storeFaults } from "../storeFaults.ts"
import { subtleStoreFaults } from "../subtleStoreFaults.ts"
import { firstBroken, inMemory, isHarmless, suiteOf } from "./support/plantedStores.ts"

describe("the laws of the stores notice that", () => {
  for (const fault of [...storeFaults, ...subtleStoreFaults]) {
    it(fault.name, async () => {
      const law = await firstBroken(suiteOf(fault, inMemory))
      expect(law !== undefined).toBe(!isHarmless(fault, "memory"))
    })
  }
})
