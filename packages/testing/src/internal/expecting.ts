/** Comparisons of domain data whose differences can be read. */
import { expect } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"

/** Plain data: instants as text, options as the value or `null`, classes as objects. */
export const plain = (value: unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Option.isOption(value)) return plain(Option.getOrNull(value))
  if (Redacted.isRedacted(value)) return plain(Redacted.value(value))
  if (Array.isArray(value)) return value.map(plain)
  if (Predicate.isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]))
  }
  return value
}

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
