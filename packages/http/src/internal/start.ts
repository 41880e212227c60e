/** From layers to something that runs, for servers that do not run on Effect. */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"

/** A layer that provides everything that is needed. If it does not, the compiler names what is missing. */
export type Complete<Provided, E, Needed> =
  & Layer.Layer<Provided, E>
  & ([Exclude<Needed, Provided>] extends [never] ? unknown
    : { readonly "no layer provides": Exclude<Needed, Provided> })

/** What runs, and how to end it. */
export interface Started<A> {
  readonly value: A
  /** Ends everything that the layers began, and waits for it. */
  readonly dispose: () => Promise<void>
}

/** Builds the layers and makes something of them. Rejected if a layer cannot be built. */
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
