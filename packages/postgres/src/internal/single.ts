/** A batch of one. */
import * as Effect from "effect/Effect"

/** Runs a batched operation for one request, at once: on the connection of an open transaction there is no tick to wait for. */
export const one =
  <In, Out, E>(run: (batch: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>) =>
  (request: In): Effect.Effect<Out, E> =>
    Effect.flatMap(
      run([request]),
      ([out]) => out === undefined ? Effect.dieMessage("a batch answered too little") : Effect.succeed(out)
    )
