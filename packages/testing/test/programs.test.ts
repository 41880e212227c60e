import { it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Operation, Program, ProgramLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect } from "effect"

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
