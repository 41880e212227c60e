import { it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import * as Program from "../src/Program.ts"
import * as ProgramLaws from "../src/ProgramLaws.ts"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect } from "effect"

describeSuite(ProgramLaws.suite("programs in memory", Memory.layer, { numRuns: 100 }))

it.effect("what was delivered and then forgotten was no mistake", () =>
  Program.check([
    { _tag: "Subscribe", application: 0, callback: "right" },
    { _tag: "Consent", user: 0, application: 0, pkce: false },
    { _tag: "RevokeByUser", code: 0 },
    { _tag: "Work", seconds: 1, killed: false },
    { _tag: "Wait", seconds: 31 * 86_400 },
    { _tag: "Purge" }
  ], { seed: 0 }).pipe(Effect.provide(Memory.layer)))

it.effect("the tokens of a line that a replay has ended are not repeated", () =>
  Program.check([
    { _tag: "Consent", user: 0, application: 0, pkce: false },
    { _tag: "Redeem", code: 0, key: "one", slip: "none" },
    { _tag: "Wait", seconds: 61 },
    { _tag: "Redeem", code: 0, key: "", slip: "none" },
    { _tag: "Redeem", code: 0, key: "one", slip: "none" }
  ], { seed: 0, replay: "revoke" }).pipe(Effect.provide(Memory.layer)))
