/** Questions to the server. */
import * as Effect from "effect/Effect"
import { StoreError } from "@startlist/core/Store"
import type { MaybePromise } from "./Options.ts"

/** The answer of the server. A rejected promise counts as an unavailable store: requests are answered with 503. */
export const asked = <A>(ask: () => MaybePromise<A>): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({ try: async () => ask(), catch: (cause) => new StoreError({ cause }) })
