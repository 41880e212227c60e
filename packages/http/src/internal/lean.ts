/** A runtime for many short fibers. */
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import { flow } from "effect/Function"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

/**
 * Drops the FiberRefs that `runFork` sets anyway (context, runtime flags), so that each request fiber copies fewer. Also
 * switches off Effect's per-fiber metrics (`effect_fiber_…`), which look up a histogram at the end of each fiber.
 */
export const lean: <R>(runtime: Runtime.Runtime<R>) => Runtime.Runtime<R> = flow(
  Runtime.updateFiberRefs(
    flow(FiberRefs.delete(FiberRef.currentContext), FiberRefs.delete(FiberRef.currentRuntimeFlags))
  ),
  Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics)
)
