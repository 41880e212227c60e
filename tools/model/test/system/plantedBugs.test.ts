import { describe, it } from "vitest"
import { bugs, expectFound, seed } from "../plantedBugs.ts"

describe("a planted bug is found, with a counterexample of at most six operations", () => {
  for (const bug of bugs) it(bug.name, () => expectFound(bug, { seed, numRuns: 500 }))
})
