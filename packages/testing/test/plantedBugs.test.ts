import { describe, expect, it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Command, Program } from "@startlist/testing"
import { Effect, FastCheck, type Layer } from "effect"
import * as Planted from "./plantedBugs.ts"

const story = FastCheck.record({ program: Command.program(), seed: FastCheck.nat() })

/** Commands, those of parallel groups too. */
const size = (program: Command.Program): number =>
  program.reduce((sum, command) => sum + (command._tag === "Parallel" ? command.commands.length : 1), 0)

const bugs: ReadonlyArray<readonly [bug: string, stores: Layer.Layer<Memory.Stores>]> = [
  ["a replaced refresh token is accepted", Planted.rotationWithoutGeneration],
  ["a token outlives the revocation once the user consents again", Planted.accessWithoutEpoch],
  ["a refresh that races a revocation undoes it", Planted.saveWithoutVersion],
  ["a revocation is saved without its event", Planted.revocationWithoutOutbox],
  ["a status change is saved without its events", Planted.changeWithoutOutbox],
  ["an application whose access was revoked still hears of changes", Planted.audienceOfRevoked],
  ["a settlement is lost", Planted.settlementLost]
]

describe("a planted bug is found, with a counterexample of at most six commands", () => {
  for (const [bug, stores] of bugs) {
    it.effect(bug, () =>
      Effect.promise(async () => {
        const found = await FastCheck.check(
          FastCheck.asyncProperty(story, ({ program, seed }) =>
            Effect.runPromise(Effect.provide(Program.check(program, { seed }), stores))),
          { numRuns: 500, seed: 1 }
        )
        const [counterexample] = found.counterexample ?? []
        expect(found.failed).toBe(true)
        expect(String(found.errorInstance)).toContain("LawBroken")
        expect(size(counterexample?.program ?? []), JSON.stringify(counterexample)).toBeLessThanOrEqual(6)
      }), 60_000)
  }
})
