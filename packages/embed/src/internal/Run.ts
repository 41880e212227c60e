/** How calls run. */
import type * as Effect from "effect/Effect"
import type { StoreError } from "@startlist/core/Store"

/** Runs an effect as a promise, which rejects while the store is unavailable. */
export type Run = <A>(effect: Effect.Effect<A, StoreError>) => Promise<A>
