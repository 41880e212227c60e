/** An import of many lines, one record each: says what was done with them, and which were refused. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import type { ImportRefused, Outcome } from "./Import.ts"
import type { Readers } from "./ImportRecord.ts"
import type { StoreError } from "./Store.ts"

/** The number of records of one kind by what was done with them. */
export type Counts = { readonly [Done in Outcome | "refused"]: number }

/** A line that was not imported. */
export interface Refused {
  /** From 1. */
  readonly line: number
  readonly message: string
}

interface Tagged<Kind extends string = string> {
  readonly kind: Kind
}

/** How to import lines. */
export interface Options<R extends Tagged> {
  /** The kinds, in the order of the counts. */
  readonly readers: Readers<R>
  /** Kinds in the order of their passes: records of a later pass name those of an earlier one. */
  readonly passes: ReadonlyArray<ReadonlyArray<R["kind"]>>
  readonly add: (record: R) => Effect.Effect<Outcome, ImportRefused | StoreError>
  /** Called for each line that is refused. Nothing of it is stored. */
  readonly onRefused: (refused: Refused) => Effect.Effect<void>
}

/** An import in progress. */
export interface Lines<Kind extends string> {
  /**
   * Imports a line, JSON text or the object, if the pass has its kind. The first pass refuses what is no record. `line` is
   * its number. Fails while the store is unavailable: repeat the import, which continues.
   */
  readonly add: (pass: number) => (text: unknown, line: number) => Effect.Effect<void, StoreError>
  /** Counts by kind. They grow with each line. */
  readonly counts: { readonly [One in Kind]: Counts }
}

/** The record of a line, or why it has none. None for the lines of other passes and for empty lines. */
const parse = <R extends Tagged>(
  { passes, readers }: Options<R>,
  text: unknown,
  pass: number
): Either.Either<Option.Option<R>, string> => {
  const isKind = (kind: unknown): kind is R["kind"] => typeof kind === "string" && Object.hasOwn(readers, kind)
  if (typeof text === "string" && text.trim() === "") return Either.right(Option.none())
  // An object, too, becomes JSON: its dates are then texts.
  const json = Either.try((): unknown => JSON.parse(typeof text === "string" ? text : JSON.stringify(text)))
  const value = Either.getOrNull(json)
  const kind = Predicate.hasProperty(value, "kind") ? value.kind : undefined
  if (isKind(kind)) {
    return passes[pass]?.includes(kind) === true
      ? Either.map(readers[kind](value), Option.some)
      : Either.right(Option.none())
  }
  if (pass > 0) return Either.right(Option.none())
  if (Either.isLeft(json)) return Either.left("it is not a JSON object")
  return Either.left(
    kind === "user"
      ? "kind: users are not imported here, because the embedding server has its own"
      : `kind: must be one of ${Object.keys(readers).join(", ")}`
  )
}

const isUnavailable = (error: ImportRefused | StoreError): boolean =>
  error._tag === "@startlist/core/StoreError" && error.isRefused !== true

/** A failure of the store is retried, because nothing of a record is half stored. */
const retries = { times: 3, while: isUnavailable }

/** Begins an import. */
export const make = <R extends Tagged>(options: Options<R>): Lines<R["kind"]> => {
  const zero = () => ({ added: 0, updated: 0, unchanged: 0, refused: 0 })
  const counts = Record.map<R["kind"], unknown, ReturnType<typeof zero>>(options.readers, zero)
  return {
    counts,
    add: (pass) => (text, line) => {
      const record = parse(options, text, pass)
      if (Either.isLeft(record)) return options.onRefused({ line, message: record.left })
      if (Option.isNone(record.right)) return Effect.void
      const { value } = record.right
      const count: ReturnType<typeof zero> = counts[value.kind as R["kind"]]
      return Effect.matchEffect(Effect.retry(options.add(value), retries), {
        onSuccess: (outcome) => Effect.sync(() => count[outcome]++),
        onFailure: (error) => {
          const isOfStore = error._tag === "@startlist/core/StoreError"
          if (isOfStore && isUnavailable(error)) return Effect.fail(error)
          count.refused++
          return options.onRefused({ line, message: isOfStore ? "it cannot be stored" : error.message })
        }
      })
    }
  }
}
