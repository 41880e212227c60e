/**
 * The laws of the whole system over any stores, as a suite: generated programs, and agreement with the stores in
 * memory.
 *
 * ```ts
 * describeSuite(ProgramLaws.suite("my database", MyStores.layer, { isExternal: true })) // of @startlist/testing/vitest
 * ```
 */
import type { Stores } from "@startlist/core/Stores"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Agreement from "./Agreement.ts"
import * as Operation from "./Operation.ts"
import { forAll, law, type LawGroup } from "./Law.ts"
import * as Program from "./Program.ts"
import * as Suite from "./Suite.ts"

export interface Options {
  /** Whether virtual time waits for the stores, as a database needs. Default: no. */
  readonly isExternal?: boolean
  /** Number of programs. A quarter as many are compared with the stores in memory. Default: 100. */
  readonly numRuns?: number
  /** Maximum number of operations of a program. Default: 20. */
  readonly maxLength?: number
}

/** Two laws of these stores. A failure prints the shortest program that was found, and its seed. */
export const laws = (options: Options = {}): LawGroup<Stores> => {
  const { isExternal = false, maxLength = 20, numRuns = 100 } = options
  const seed = FastCheck.nat()
  return {
    about: "programs",
    laws: [
      law("the laws hold for every program, with parallel steps, killed workers and time travel", () =>
        forAll(
          FastCheck.record({ program: Operation.program(maxLength), seed }),
          ({ program, seed }) => Program.check(program, { seed, isExternal }),
          { numRuns }
        )),
      law("every sequential program gives the same trace as in memory", () =>
        forAll(
          FastCheck.record({ program: Operation.sequential(maxLength), seed }),
          ({ program, seed }) => Agreement.check(program, { seed, isExternal }),
          { numRuns: Math.ceil(numRuns / 4) }
        ))
    ]
  }
}

/** The laws as tests of these stores. */
export const suite = <E>(name: string, stores: Layer.Layer<Stores, E>, options?: Options): Suite.Suite =>
  Suite.make(name, stores, [laws(options)])
