/**
 * Laws of one implementation, as tests for any test runner or none.
 *
 * ```ts
 * const { close, tests } = StoreLaws.suite("my database", MyStores.layer)
 * for (const { name, run } of tests) test(name, run) // of node:test
 * after(close)
 * ```
 *
 * `@startlist/testing/vitest` does this with vitest. `run` does it in a script.
 */
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { LawGroup } from "./Law.ts"

export interface Test {
  readonly name: string
  /** Rejects if the law does not hold. The error has the seed, and `command`, if given, to repeat the run. */
  readonly run: (command?: string) => Promise<void>
}

export interface Suite {
  readonly name: string
  readonly tests: ReadonlyArray<Test>
  /** Closes the implementation, which the first test opens. */
  readonly close: () => Promise<void>
}

/** A law does not hold. */
export class LawBroken extends Error {
  override readonly name = "LawBroken"
}

/** Environment variable with the seed of all laws. Without it, each law draws its own. */
export const seedVariable = "STARTLIST_SEED"

const makeSeed = Effect.orDie(
  Effect.flatMap(
    Config.option(Config.integer(seedVariable)),
    Option.match({ onNone: () => Random.nextIntBetween(0, 2 ** 31), onSome: Effect.succeed })
  )
)

const describe = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error && error.message !== "" ? error.message : Cause.pretty(cause)
}

/** The laws of these groups, over one implementation that they share. */
export const make = <R, E>(
  name: string,
  layer: Layer.Layer<R, E>,
  groups: ReadonlyArray<LawGroup<R>>
): Suite => {
  const runtime = ManagedRuntime.make(layer)
  const tests = groups.flatMap(({ about, laws }) =>
    laws.map(({ check, name: law }): Test => ({
      name: `${about}: ${law}`,
      run: async (command) => {
        const seed = await runtime.runPromise(makeSeed)
        const exit = await runtime.runPromiseExit(Effect.withRandom(check, Random.make(seed)))
        if (Exit.isSuccess(exit)) return
        const again = `Run it again: ${seedVariable}=${seed} ${command ?? "and the same command"}`
        throw new LawBroken(`${about}: ${law}\n${describe(exit.cause)}\n${again}`, { cause: Cause.squash(exit.cause) })
      }
    }))
  )
  return { name, tests, close: () => runtime.dispose() }
}

/** Runs all tests, one after the other. Returns those that failed, with their errors. Closes the implementation. */
export const run = async (
  { close, tests }: Suite
): Promise<ReadonlyArray<{ readonly name: string; readonly error: unknown }>> => {
  const failed: Array<{ readonly name: string; readonly error: unknown }> = []
  try {
    for (const { name, run } of tests) await run().catch((error: unknown) => failed.push({ name, error }))
  } finally {
    await close()
  }
  return failed
}
