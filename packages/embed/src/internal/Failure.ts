/** Errors for callers of promises, in place of failures of Effect: a sentence, and the error behind it. */
import * as Cause from "effect/Cause"
import { StoreError } from "@startlist/core/Store"
import { WrongValue } from "./Check.ts"

/** Whether it is an error of our own or of Effect, which callers must not see. */
const isInternal = (error: unknown): error is { readonly cause?: unknown } =>
  typeof error === "object" && error !== null && ("_tag" in error || "_id" in error)

/** The error, and those behind it. Of several attempts, the first one counts. */
const chain = (error: unknown): ReadonlyArray<unknown> => {
  if (isInternal(error)) return [error, ...chain(error.cause)]
  return error instanceof AggregateError && error.errors.length > 0 ? chain(error.errors[0]) : [error]
}

/** The error behind ours: that of the driver, of the system, or of a function of the server. */
export const behind = (error: unknown): unknown => chain(error).at(-1)

/** In a sentence, why this happened. A `StoreError` has nothing to say. */
export const reasonOf = (error: unknown): string => {
  const errors = chain(error).filter((one) => one !== undefined && !(one instanceof StoreError))
  return [...new Set(errors.map((one) => one instanceof Error ? one.message : String(one)))].join(": ")
}

/** `prefix` says what could not be done. */
export const toError = (cause: Cause.Cause<unknown>, prefix = ""): Error => {
  const error = Cause.squash(cause)
  return new Error(prefix + reasonOf(error), error instanceof WrongValue ? {} : { cause: behind(error) })
}
