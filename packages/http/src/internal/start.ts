/** Builds layers for servers that do not use Effect. */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"

/** A layer that provides all needed services. The compiler names missing ones. */
export type Complete<Provided, E, Needed> =
  & Layer.Layer<Provided, E>
  & ([Exclude<Needed, Provided>] extends [never] ? unknown
    : { readonly "no layer provides": Exclude<Needed, Provided> })

/** A running value, and a function that ends it. */
export interface Started<A> {
  readonly value: A
  /** Releases the layers, and waits for it. */
  readonly dispose: () => Promise<void>
}

/** Builds the layers and runs an effect with them. Rejects if a layer cannot be built. */
export function start<A, Provided, E, Needed>(
  make: Effect.Effect<A, never, Needed>,
  layer: Complete<Provided, E, Needed>
): Promise<Started<A>>
export async function start<A, Provided, E>(
  make: Effect.Effect<A, never, Provided>,
  layer: Layer.Layer<Provided, E>
): Promise<Started<A>> {
  const runtime = ManagedRuntime.make(layer)
  const dispose = () => runtime.dispose()
  try {
    return { value: await runtime.runPromise(make), dispose }
  } catch (cause) {
    await dispose()
    throw cause
  }
}
