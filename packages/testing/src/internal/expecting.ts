/** Comparisons of domain data whose differences can be read. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import { plain } from "./plain.ts"

/** The two are equal as data. */
export const same = (actual: unknown, expected: unknown, message?: string): void =>
  expect(plain(actual), message).toStrictEqual(plain(expected))

/** Runs something that must fail in an expected way, and gives the tag of the failure. */
export const tagOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, never, R> =>
  Effect.map(
    Effect.either(effect),
    Either.match({
      onLeft: (error) => Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an error without a tag",
      onRight: () => "success"
    })
  )

/** Runs all at once and gives how each came out: the tag of its failure, or "success". */
export const race = <A, E, R>(
  contenders: ReadonlyArray<Effect.Effect<A, E, R>>
): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.forEach(contenders, (one) => tagOf(one), { concurrency: "unbounded" })

/** How many of these are equal to `value`. */
export const count = (values: ReadonlyArray<string>, value: string): number =>
  values.filter((one) => one === value).length
