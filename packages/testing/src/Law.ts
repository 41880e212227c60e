/** A law: a sentence, and a check that fails if it does not hold. */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Runtime from "effect/Runtime"

export interface Law<R> {
  /** What must hold, as a sentence. */
  readonly name: string
  /** Fails or dies, with a difference that can be read, if it does not. */
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

/** Checks a law for arbitrary values; dies with the smallest counterexample that was found. */
export const forAll = <A, E, R>(
  arbitrary: FastCheck.Arbitrary<A>,
  check: (value: A) => Effect.Effect<unknown, E, R>,
  parameters: FastCheck.Parameters<[A]> = {}
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(arbitrary, async (value) => {
          await Runtime.runPromise(runtime)(check(value))
        }),
        parameters
      )
    ))
