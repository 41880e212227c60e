/**
 * Laws, and suites of them: tests of one implementation for any test runner or none.
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
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import { FairScheduler, turn } from "./internal/eventLoop.ts"

/** A sentence, and a check that fails if it does not hold. */
export interface Law<R> {
  /** The law as a sentence. */
  readonly name: string
  /** Fails or dies if the law does not hold. The error is a readable difference. */
  readonly check: Effect.Effect<void, unknown, R>
}

/** Laws about one thing. */
export interface LawGroup<R> {
  readonly about: string
  readonly laws: ReadonlyArray<Law<R>>
}

/** A law with its check as a generator. */
export const law = <E, R>(name: string, check: () => Effect.Effect<unknown, E, R>): Law<R> => ({
  name,
  check: Effect.asVoid(Effect.suspend(check))
})

/** The effort of laws: how many programs and rounds they run. */
export class Effort extends Context.Reference<Effort>()("@startlist/testing/Effort", {
  defaultValue: (): Effort.Service => ({ factor: 1, shrinks: true, programs: 0 })
}) {}

export declare namespace Effort {
  export interface Service {
    /** Multiplies the programs and rounds of each law, and the time that they may take. */
    readonly factor: number
    /** Whether a counterexample is shrunk. */
    readonly shrinks: boolean
    /** Number of random programs that have run. */
    programs: number
  }
}

/**
 * Checks a law for arbitrary values from the seed of the law. Dies with the smallest counterexample that was found.
 * Other tasks of the process, such as the timeout of a test runner, run between two values.
 */
export const forAll = <A, E, R>(
  arbitrary: FastCheck.Arbitrary<A>,
  check: (value: A) => Effect.Effect<unknown, E, R>,
  parameters: FastCheck.Parameters<[A]> = {}
): Effect.Effect<void, never, R> =>
  Effect.gen(function*() {
    const runtime = yield* Effect.runtime<R>()
    const seed = yield* Random.nextIntBetween(0, 2 ** 31)
    const { shrinks } = yield* Effort
    const property = FastCheck.asyncProperty(arbitrary, async (value) => {
      await Runtime.runPromise(runtime)(Effect.zipRight(turn, check(value)))
    })
    yield* Effect.promise(() => FastCheck.assert(property, { seed, endOnFailure: !shrinks, ...parameters }))
  })

export interface Test {
  readonly name: string
  /**
   * Rejects if the law does not hold. The error has the seed, and `command`, if given, to repeat the run. `signal`
   * interrupts it.
   */
  readonly run: (command?: string, signal?: AbortSignal) => Promise<void>
}

export interface Suite {
  readonly name: string
  readonly tests: ReadonlyArray<Test>
  /** Number of random programs that its tests have run. */
  readonly programs: () => number
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

export interface Options {
  /** Multiplies the number of random programs and rounds, and their time. Default: 1. */
  readonly effort?: number
  /** Whether a counterexample is shrunk, which takes up to ten seconds. Default: yes. */
  readonly shrinks?: boolean
}

/** The laws of these groups, over one implementation that they share. */
export const make = <R, E>(
  name: string,
  layer: Layer.Layer<R, E>,
  groups: ReadonlyArray<LawGroup<R>>,
  { effort: factor = 1, shrinks = true }: Options = {}
): Suite => {
  if (!(factor > 0)) throw new RangeError(`effort is ${factor}. It must be above 0.`)
  const runtime = ManagedRuntime.make(layer)
  const scheduler = new FairScheduler()
  const effort: Effort.Service = { factor, shrinks, programs: 0 }
  const tests = groups.flatMap(({ about, laws }) =>
    laws.map(({ check, name: law }): Test => ({
      name: `${about}: ${law}`,
      run: async (command, signal) => {
        const seed = await runtime.runPromise(makeSeed)
        const checking = check.pipe(
          Effect.withRandom(Random.make(seed)),
          Effect.provideService(Effort, effort),
          Effect.withScheduler(scheduler)
        )
        const exit = await runtime.runPromiseExit(checking, signal && { signal })
        if (Exit.isSuccess(exit)) return
        const again = `Run it again: ${seedVariable}=${seed} ${command ?? "and the same command"}`
        throw new LawBroken(`${about}: ${law}\n${describe(exit.cause)}\n${again}`, { cause: Cause.squash(exit.cause) })
      }
    }))
  )
  return { name, tests, programs: () => effort.programs, close: () => runtime.dispose() }
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

export interface Result {
  readonly failed: ReadonlyArray<Failure>
  /** Number of random programs that ran. */
  readonly programs: number
}

/**
 * Runs all tests, one after the other. Returns those that failed, with their errors. If one does not end in time, the
 * implementation may be stuck: then those after it are not run, and fail, too. Closes the implementation.
 */
export const run = async (
  { close, programs, tests }: Suite,
  { timeout = 60_000 }: RunOptions = {}
): Promise<Result> => {
  const failed: Array<Failure> = []
  const attempt = async (name: string, run: (signal: AbortSignal) => Promise<void>) => {
    const controller = new AbortController()
    await inTime(name, run(controller.signal), timeout).catch((error: unknown) => void failed.push({ name, error }))
    controller.abort()
  }
  for (const [place, { name, run }] of tests.entries()) {
    await attempt(name, (signal) => run(undefined, signal))
    if (!(failed.at(-1)?.error instanceof Unended)) continue
    failed.push(...tests.slice(place + 1).map(({ name }) => ({ name, error: new Unended(`${name}: not run`) })))
    break
  }
  await attempt("closing", close)
  return { failed, programs: programs() }
}

/** Its timer also keeps the process alive when nothing else does. */
const inTime = (name: string, running: Promise<void>, timeout: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Unended(`${name}: not ended after ${timeout / 1000} s`)), timeout)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
