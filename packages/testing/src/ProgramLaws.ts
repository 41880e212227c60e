/**
 * The laws of the whole system over any stores, as a suite: generated programs, and agreement with the stores in
 * memory.
 *
 * ```ts
 * ProgramLaws.suite("my database", MyStores.layer, { isExternal: true })
 * ```
 */
import { layer as describeLayer } from "@effect/vitest"
import type { Stores } from "@startlist/core/Stores"
import type * as Duration from "effect/Duration"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Agreement from "./Agreement.ts"
import * as Command from "./Command.ts"
import { forAll } from "./Law.ts"
import * as Program from "./Program.ts"

export interface Options {
  /** The stores need real time, as a database does. Default: no. */
  readonly isExternal?: boolean
  /** How many programs. A quarter as many are compared with memory: they run twice. Default: 100. */
  readonly numRuns?: number
  /** The longest program, in commands. Default: 20. */
  readonly maxLength?: number
  /** For building the layer. */
  readonly timeout?: Duration.DurationInput
}

/** Declares two tests of these stores. A failure prints the shortest program that was found, and its seed. */
export const suite = <E>(name: string, stores: Layer.Layer<Stores, E>, options: Options = {}): void => {
  const { isExternal = false, maxLength = 20, numRuns = 100, timeout } = options
  const seed = FastCheck.nat()
  const layerOptions = timeout === undefined ? {} : { timeout }
  describeLayer(stores, { ...layerOptions, excludeTestServices: true })(name, (it) => {
    it.effect("the laws hold for every program, with parallel steps, killed workers and time travel", () =>
      forAll(
        FastCheck.record({ program: Command.program(maxLength), seed }),
        ({ program, seed }) => Program.check(program, { seed, isExternal }),
        { numRuns }
      ), 300_000)
    it.effect("every sequential program gives the same trace as in memory", () =>
      forAll(
        FastCheck.record({ program: Command.sequential(maxLength), seed }),
        ({ program, seed }) => Agreement.check(program, { seed, isExternal }),
        { numRuns: Math.ceil(numRuns / 4) }
      ), 300_000)
  })
}
