import { describe, it } from "vitest"
import { expectFound, faults, holds } from "../support/Application.ts"

it("an application never shows an older state, and knows who is connected, in 600 programs", () => holds(600))

describe("the programs find a client with a fault", () => {
  for (const fault of faults) it(fault.name, () => expectFound(fault))
})
