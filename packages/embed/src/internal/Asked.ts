/** Questions to the server. */
import * as Effect from "effect/Effect"
import { StoreError } from "@startlist/core/Store"
import type { MaybePromise } from "./Options.ts"

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
