import { it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Command, Program } from "@startlist/testing"
import { Effect, FastCheck } from "effect"

it.effect.prop(
  "the laws hold for every program, with parallel steps, killed workers and time travel",
  { program: Command.program(), seed: FastCheck.nat() },
  ({ program, seed }) => Effect.provide(Program.check(program, { seed }), Memory.layer),
  { fastCheck: { numRuns: 300 }, timeout: 60_000 }
)
