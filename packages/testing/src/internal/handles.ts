/** The handles of a storage in a law. */
import * as Effect from "effect/Effect"
import { type Fixture, make } from "./fixture.ts"

/** Two handles over one storage, or the same one twice. */
export type Handles = readonly [Fixture, Fixture]

/** Opens two handles and closes them after their use. */
export type WithHandles<R> = (
  use: (handles: Handles) => Effect.Effect<void, unknown>
) => Effect.Effect<void, unknown, R>

/** One handle twice. */
export const alone = Effect.map(make, (f): Handles => [f, f])
