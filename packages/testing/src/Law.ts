/** A law: a sentence, and a check that fails if it does not hold. */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"

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

const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

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
    const property = FastCheck.asyncProperty(arbitrary, async (value) => {
      await breath()
      await Runtime.runPromise(runtime)(check(value))
    })
    yield* Effect.promise(() => FastCheck.assert(property, { seed, ...parameters }))
  })
