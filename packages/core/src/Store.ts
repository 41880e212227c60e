/**
 * What every store port has in common: the two ways in which it can refuse.
 *
 * A store contains no rule. It finds, and it saves: one `save` is one atomic compare-and-set that carries everything
 * that the decision caused, or nothing happens.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The database is away or answered nonsense. Nothing is known about the write that was tried. */
export class StoreError extends Schema.TaggedError<StoreError>("@startlist/core/StoreError")("StoreError", {
  cause: Schema.Defect
}) {}

/** Someone else saved this record since it was read: read again and decide again. */
export class Conflict extends Schema.TaggedError<Conflict>("@startlist/core/Conflict")("Conflict", {}) {}

/** The record that a store has found, or the error that stands for none. */
export const foundOr = <A, E, NotFound>(
  found: Effect.Effect<Option.Option<A>, E>,
  notFound: () => NotFound
): Effect.Effect<A, E | NotFound> =>
  Effect.flatMap(found, Option.match({ onNone: () => Effect.fail(notFound()), onSome: Effect.succeed }))

/** The largest identifier: JSON numbers are exact below 2^53. */
export const maxId = Number.MAX_SAFE_INTEGER

/** Text that every store can keep and give back unchanged: no NUL, no half of a surrogate pair. */
export const Text = Schema.String.pipe(Schema.filter((text) => !/[\0\p{Cs}]/u.test(text), {
  message: () => "must not contain NUL or unpaired surrogates"
}))

/**
 * Text of one line that a person types, such as a name or an address: no control characters, which include line breaks
 * and escapes, and no format characters, which change the direction of text. Some scripts need the two joiners.
 */
export const Line = Text.pipe(
  Schema.filter((text) => !/[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/u.test(text), {
    message: () => "must not contain control or format characters"
  })
)

const unchecked = { disableValidation: true }

/** A branded value without the check of its schema: for what was checked when it was stored, or has just been made. */
export const trusted = <A, Plain>(
  brand: { readonly make: (value: Plain, options: typeof unchecked) => A },
  value: Plain
): A => brand.make(value, unchecked)

/** The number that counts how often a record was saved; a store accepts version n + 1 only over version n. */
export const Version = Schema.NonNegativeInt

/** How often a decision is taken again before the store counts as unavailable. */
const maxConflicts = 100

/**
 * Runs find → decide → save until the save meets no conflict.
 *
 * One of n contenders wins each round, so n of them need at most n rounds; a store that conflicts with itself is
 * reported as a `StoreError` instead of looping forever.
 */
export const untilSaved = <A, E, R>(
  attempt: Effect.Effect<A, E | Conflict, R>
): Effect.Effect<A, Exclude<E | Conflict, Conflict> | StoreError, R> => again(attempt, maxConflicts)

const again = <A, E, R>(
  attempt: Effect.Effect<A, E | Conflict, R>,
  left: number
): Effect.Effect<A, Exclude<E | Conflict, Conflict> | StoreError, R> =>
  Effect.catchIf(attempt, isConflict, () =>
    left === 0
      ? Effect.fail(new StoreError({ cause: `${maxConflicts} conflicts in a row` }))
      : Effect.zipRight(Effect.yieldNow(), again(attempt, left - 1)))

const isConflict = (error: unknown): error is Conflict => error instanceof Conflict
