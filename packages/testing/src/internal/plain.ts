/** Domain data as plain data, for comparing and printing. */
import * as DateTime from "effect/DateTime"
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
