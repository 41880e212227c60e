/** A law: a sentence, and a check that fails if it does not hold. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import { turn } from "./internal/eventLoop.ts"

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
