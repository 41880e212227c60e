/** Work that does not end when the client goes away. */
import * as Effect from "effect/Effect"

/**
 * A change together with its line in the record: begun, it is finished, and whoever closes the connection right after the
 * request cannot make a change that nobody is told of. The request itself ends at once.
 */
export const lasting = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.disconnect(Effect.uninterruptible(change))
