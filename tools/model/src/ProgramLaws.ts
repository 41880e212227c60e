/** The laws of the whole system over any stores, as a suite: generated programs. */
import type { Stores } from "@startlist/core/Services"
import * as Suite from "@startlist/testing/Suite"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Operation from "./Operation.ts"
import * as Program from "./Program.ts"

export interface Options {
  /** Whether virtual time waits for the stores, as a database needs. Default: no. */
  readonly isExternal?: boolean
  /** Number of programs. Default: 100. */
  readonly numRuns?: number
}

const replay = FastCheck.constantFrom("refuse" as const, "revoke" as const)
const runs = FastCheck.record({ program: Operation.program(), replay, seed: FastCheck.nat() })

/** The law of these stores as a test. A failure prints the shortest program that was found, and its seed. */
export const suite = <E>(
  name: string,
  stores: Layer.Layer<Stores, E>,
  { isExternal = false, numRuns = 100 }: Options = {}
): Suite.Suite =>
  Suite.make(name, stores, [{
    about: "programs",
    laws: [
      Suite.law("the laws hold for every program, with parallel steps, killed workers and time travel", () =>
        Suite.forAll(runs, ({ program, replay, seed }) =>
          Program.check(program, { seed, isExternal, replay }), { numRuns }))
    ]
  }])
