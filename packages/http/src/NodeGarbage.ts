/** Garbage collection in a process of Node that serves requests. */
import * as Effect from "effect/Effect"
import { setFlagsFromString } from "node:v8"
import { keepNoRoots } from "./internal/fiberRuntime.ts"

/**
 * Keeps requests that wait for a database in the young generation: on PostgreSQL, they take 0.75 of the CPU time on Node 26, and
 * 0.85 on Node 20. It changes the whole process, once and for all, so call it at the start, and only where you know what else
 * runs. `startlist serve` does.
 *
 * Otherwise nearly each request gets into the old generation, for two reasons:
 *
 * - V8 allocates in the old generation what has often survived. While requests wait, they all survive.
 * - Effect has a Set of these fibers, which only `Fiber.roots` reads; later fibers are not in it. V8 gives a Set that changes a
 *   new table again and again, and the old table refers to the new one. As soon as one of them is in the old generation, all
 *   later ones get there, with the fibers in them.
 */
export const tune: Effect.Effect<void> = Effect.sync(() => {
  setFlagsFromString("--no-allocation-site-pretenuring")
  keepNoRoots()
})
