/** Expectations of domain data, as plain data. A difference names the field, the expected value and the found value. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { mark } from "../TestSecrets.ts"

/** Plain data: instants as text, options as the value or `null`, classes as objects, sets as sorted lists. */
export const plain = (value: unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Option.isOption(value)) return plain(Option.getOrNull(value))
  if (Redacted.isRedacted(value)) return plain(Redacted.value(value))
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Set) return [...value].map(plain).sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
  if (Predicate.isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]))
  }
  return value
}

/** Whether a value contains a secret in clear (law 10). Every secret of a test has a mark. */
export const containsSecret = (value: unknown): boolean => JSON.stringify(plain(value)).includes(mark)

/** Whether an operation of a store writes a secret in clear (law 10). */
export const leaksSecret = (operation: string, input: ReadonlyArray<unknown>): boolean =>
  /\.(?:save|insert|settle)$/.test(operation) && containsSecret(input)

/** A law expected another value. */
export class Unexpected extends Error {
  override readonly name = "Unexpected"
}

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text
}

/** Whether a value is a record without a prototype of its own. */
const isRecordOf = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isRecord(value) && Object.getPrototypeOf(value) === Object.prototype

/** The differences of plain data, each with the path to its field. */
const differences = (path: string, expected: unknown, found: unknown): ReadonlyArray<string> => {
  if (Object.is(expected, found)) return []
  if (isList(expected) && isList(found) && expected.length === found.length) {
    return expected.flatMap((one, place) => differences(`${path}[${place}]`, one, found[place]))
  }
  if (Predicate.isRecord(expected) && Predicate.isRecord(found)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(found)])
    return [...keys].flatMap((key) => differences(path === "" ? key : `${path}.${key}`, expected[key], found[key]))
  }
  return [`${path === "" ? "" : `${path}: `}expected ${show(expected)}, found ${show(found)}`]
}

const check = (what: string, found: ReadonlyArray<string>): void => {
  if (found.length > 0) throw new Unexpected([...what === "" ? [] : [what], ...found].join("\n  "))
}

/** Whether two values are equal. Much faster than a comparison as plain data if they share their parts. */
export const alike = (one: unknown, other: unknown): boolean => {
  if (Equal.equals(one, other)) return true
  if (isList(one)) {
    return isList(other) && one.length === other.length && one.every((a, place) => alike(a, other[place]))
  }
  if (!isRecordOf(one) || !isRecordOf(other)) return false
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => alike(one[key], other[key]))
}

/** Expects that two values are equal as data. `what` names them. */
export const same = (actual: unknown, expected: unknown, what = ""): void =>
  alike(actual, expected) ? undefined : check(what, differences("", plain(expected), plain(actual)))

/** Expects that these fields are equal as data. There may be others. */
export const has = (actual: unknown, expected: object, what = ""): void => {
  const [found, wanted] = [plain(actual), plain(expected)]
  const fields = Predicate.isRecord(found) && Predicate.isRecord(wanted)
    ? Object.fromEntries(Object.keys(wanted).map((key) => [key, found[key]]))
    : found
  check(what, differences("", wanted, fields))
}

/** Expects that a sentence is true. */
export const holds = (isTrue: boolean, sentence: string): void => check("", isTrue ? [] : [`not so: ${sentence}`])

/** The tag of a failure. */
export const tagOfError = (error: unknown): string =>
  Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an error without a tag"

/** Runs an effect and returns the tag of its failure, or "success". */
export const tagOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, never, R> =>
  Effect.map(Effect.either(effect), Either.match({ onLeft: tagOfError, onRight: () => "success" }))

/** Runs effects in parallel. Returns the tag of each failure, or "success". */
export const race = <A, E, R>(
  contenders: ReadonlyArray<Effect.Effect<A, E, R>>
): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.forEach(contenders, (one) => tagOf(one), { concurrency: "unbounded" })

/** Number of values that are equal to `value`. */
export const count = (values: ReadonlyArray<string>, value: string): number =>
  values.filter((one) => one === value).length

/** Numbers in their order, where no other order is promised. */
export const sorted = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => [...numbers].sort((a, b) => a - b)
