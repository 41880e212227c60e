import { describe, it } from "vitest"
import { bugs, expectFound, seed } from "./plantedBugs.ts"

// The system tier searches for other programs.
describe("a planted bug is found by the program that is known to show it", () => {
  for (const bug of bugs) it(bug.name, () => expectFound(bug, { seed, path: bug.path }))
})
