import { expect, it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import * as Operation from "../src/Operation.ts"
import * as Program from "../src/Program.ts"
import * as ProgramLaws from "../src/ProgramLaws.ts"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Schema } from "effect"

describeSuite(ProgramLaws.suite("programs in memory", Memory.layer, { numRuns: 100 }))

it.effect("what was delivered and then forgotten was no mistake", () =>
  Program.check([
    Operation.Subscribe.make({ application: 0, callback: "right" }),
    Operation.Consent.make({ user: 0, application: 0, pkce: false }),
    Operation.RevokeByUser.make({ code: 0 }),
    Operation.Work.make({ seconds: 1, killed: false }),
    Operation.Wait.make({ seconds: 31 * 86_400 }),
    Operation.Purge.make({})
  ], { seed: 0 }).pipe(Effect.provide(Memory.layer)))

it.prop("a program survives being written down and read", [Operation.program()], ([program]) => {
  const json = JSON.stringify(Schema.encodeSync(Operation.Program)(program))
  expect(Schema.decodeUnknownSync(Operation.Program)(JSON.parse(json))).toStrictEqual(program)
})
