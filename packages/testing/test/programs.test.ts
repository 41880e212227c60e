import { it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Command, Program, ProgramLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect } from "effect"

describeSuite(ProgramLaws.suite("programs in memory", Memory.layer, { numRuns: 100 }))

it.effect("what was delivered and then forgotten was no mistake", () =>
  Program.check([
    Command.Subscribe.make({ application: 0, callback: "right" }),
    Command.Consent.make({ user: 0, application: 0, pkce: false }),
    Command.RevokeByUser.make({ code: 0 }),
    Command.Work.make({ seconds: 1, killed: false }),
    Command.Wait.make({ seconds: 31 * 86_400 }),
    Command.Purge.make({})
  ], { seed: 0 }).pipe(Effect.provide(Memory.layer)))
