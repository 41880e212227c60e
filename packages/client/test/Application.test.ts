/** Properties of a whole application that uses the client. The system tier has more programs. */
import { it } from "vitest"
import { expectFound, holds } from "./support/Application.ts"

it("an application never shows an older state, and knows who is connected, for any lost answer, late event and restart", () =>
  holds(8))

it("the programs find a client that never sets isLate", () =>
  expectFound({ event: (event) => ({ ...event, isLate: false }) }, 1, "has isLate false"))

it("the programs find a client whose forget ignores the time", () =>
  expectFound(
    {
      tokens: (tokens) => ({
        ...tokens,
        forget: (event) => tokens.forget({ ...event, time: new Date(8.64e15) })
      })
    },
    1,
    "the application counts the"
  ))
