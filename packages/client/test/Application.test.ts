/** Properties of a whole application that uses the client. The system tier has more programs. */
import { describe, it } from "vitest"
import { expectFound, faults, holds } from "./support/Application.ts"

it("an application never shows an older state, and knows who is connected, for any lost answer, late event and restart", () =>
  holds(8))

describe("the programs find a client with a fault", () => {
  for (const fault of faults) it(fault.name, () => expectFound(fault, fault.path))
})
