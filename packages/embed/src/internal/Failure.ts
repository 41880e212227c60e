/** Errors on the way between a server and Effect: those of its functions, and those for callers of promises. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { StoreError } from "@startlist/core/Store"
import { WrongValue } from "./Check.ts"
import type { MaybePromise } from "./Options.ts"

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

/** A function of the server threw, or its promise was rejected. The cause is its error. */
class FunctionFailed extends Error {
  readonly _tag = "FunctionFailed"
}

/** The answer of a function of the server. If it fails, a store counts as unavailable: requests are answered with 503. */
export const asked = <A>(name: string, ask: () => MaybePromise<A>): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({
    // Not inside our own call, whose frames say nothing to the server.
    try: () => Promise.resolve().then(ask),
    catch: (cause) =>
      new StoreError({ cause: new FunctionFailed(`the server's function \`${name}\` failed`, { cause }) })
  })
