/** What all store ports share. A store contains no rules: a `save` is one atomic compare-and-set of a decision. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** The database failed. The caller does not know whether the write happened. */
export class StoreError extends Schema.TaggedError<StoreError>()("@startlist/core/StoreError", {
  cause: Schema.Defect,
  /** It cannot store a value of the call: nothing was written, and a repeat fails too. */
  isRefused: Schema.optional(Schema.Boolean)
}) {}

/** Another save changed this record since it was read: read again and decide again. */
export class Conflict extends Schema.TaggedError<Conflict>()("@startlist/core/Conflict", {}) {}

/** The found record, or an error if there is none. */
export const foundOr = <A, E, NotFound>(
  found: Effect.Effect<Option.Option<A>, E>,
  notFound: () => NotFound
): Effect.Effect<A, E | NotFound> =>
  Effect.flatMap(found, Option.match({ onNone: () => Effect.fail(notFound()), onSome: Effect.succeed }))

/** The largest identifier: JSON numbers are exact below 2^53. */
export const maxId = Number.MAX_SAFE_INTEGER

/** Text that every store can save and return unchanged: no NUL, no half of a surrogate pair. */
export const Text = Schema.String.pipe(Schema.filter((text) => !/[\0\p{Cs}]/u.test(text), {
  message: () => "must not contain NUL or unpaired surrogates"
}))

/** One line that a person types: no control or format characters, but the two joiners that some scripts need. */
export const SingleLine = Text.pipe(
  Schema.filter((text) => !/[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/u.test(text), {
    message: () => "must not contain control or format characters"
  })
)

const unchecked = { disableValidation: true }

/** A branded value without the check of its schema, for values that were checked before or have just been made. */
export const unsafeBrand = <A, Plain>(
  brand: { readonly make: (value: Plain, options: typeof unchecked) => A },
  value: Plain
): A => brand.make(value, unchecked)

/** Number of saves of a record. A store accepts version n + 1 only over version n. */
export const Version = Schema.NonNegativeInt

/** Maximum number of repeated decisions before the store counts as unavailable. */
const maxConflicts = 100

/**
 * Repeats find → decide → save until there is no conflict. Each round one of n contenders wins, so n rounds are enough.
 * Endless conflicts give a `StoreError`. A schedule costs time, so the first attempt has none.
 */
export const untilSaved = <A, E, R>(
  attempt: Effect.Effect<A, E | Conflict, R>
): Effect.Effect<A, Exclude<E | Conflict, Conflict> | StoreError, R> =>
  Effect.catchIf(attempt, isConflict, () =>
    Effect.zipRight(Effect.yieldNow(), attempt).pipe(
      Effect.retry({ while: isConflict, times: maxConflicts - 1 }),
      Effect.catchIf(isConflict, () => new StoreError({ cause: `${maxConflicts} conflicts in a row` }))
    ))

/** Finds, decides, and saves a change. A decision that returns the same record saves nothing. */
export const changing = <A, E, R, E2, E3, R3>(
  find: Effect.Effect<A, E, R>,
  save: (next: A) => Effect.Effect<void, E3 | Conflict, R3>,
  decide: (present: A, now: DateTime.Utc) => Effect.Effect<A, E2>
) =>
  untilSaved(Effect.gen(function*() {
    const present = yield* find
    const next = yield* decide(present, yield* DateTime.now)
    if (next !== present) yield* save(next)
    return next
  }))

const isConflict = (error: unknown): error is Conflict => error instanceof Conflict
