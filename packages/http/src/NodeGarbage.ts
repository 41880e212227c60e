/** Garbage collection in a process of Node that serves requests. */
import * as Effect from "effect/Effect"
import { globalValue } from "effect/GlobalValue"
import { setFlagsFromString } from "node:v8"

/** The key of the scope in which Effect starts fibers that have no parent. */
const globalScope = Symbol.for("effect/FiberScope/Global")

/**
 * Makes requests that wait for a database a quarter cheaper on PostgreSQL: they stay in the young generation. It changes the
 * whole process, once and for all, so call it at the start, and only where you know what else runs. `startlist serve` does.
 *
 * Otherwise nearly each request gets into the old generation, for two reasons:
 *
 * - V8 allocates in the old generation what has often survived. While requests wait, they all survive.
 * - Effect has a Set of these fibers, which only `Fiber.roots` reads; it is empty afterwards. V8 gives a Set that changes a new
 *   table again and again, and the old table refers to the new one. As soon as one of them is in the old generation, all later
 *   ones get there, with the fibers in them.
 */
export const tune: Effect.Effect<void> = Effect.sync(() => {
  setFlagsFromString("--no-allocation-site-pretenuring")
  const scope = globalValue(globalScope, () => ({ add: (): void => {} }))
  scope.add = () => {}
})
