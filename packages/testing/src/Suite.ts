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

export interface RunOptions {
  /** Timeout of each test in milliseconds. Default: 60 000. */
  readonly timeout?: number
}

/** A test that failed. */
export interface Failure {
  readonly name: string
  readonly error: unknown
}

/** A test did not end in time, or was not run for this reason. */
export class Unended extends Error {
  override readonly name = "Unended"
}

/**
 * Runs all tests, one after the other. Returns those that failed, with their errors. If one does not end in time, the
 * implementation may be stuck: then those after it are not run, and fail, too. Closes the implementation.
 */
export const run = async (
  { close, tests }: Suite,
  { timeout = 60_000 }: RunOptions = {}
): Promise<ReadonlyArray<Failure>> => {
  const failed: Array<Failure> = []
  const attempt = (name: string, running: Promise<void>) =>
    inTime(name, running, timeout).catch((error: unknown) => void failed.push({ name, error }))
  for (const [place, { name, run }] of tests.entries()) {
    await attempt(name, run())
    if (!(failed.at(-1)?.error instanceof Unended)) continue
    failed.push(...tests.slice(place + 1).map(({ name }) => ({ name, error: new Unended(`${name}: not run`) })))
    break
  }
  await attempt("closing", close())
  return failed
}

/** Its timer also keeps the process alive when nothing else does. */
const inTime = (name: string, running: Promise<void>, timeout: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unended(`${name}: not ended after ${timeout / 1000} s`)), timeout)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
