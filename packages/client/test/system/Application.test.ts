import { it } from "vitest"
import { holds } from "../support/Application.ts"

it("an application never shows an older state, and knows who is connected, in 600 programs", () => holds(600))
