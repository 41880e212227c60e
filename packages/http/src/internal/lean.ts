/** A runtime for many short fibers. */
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import { flow } from "effect/Function"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

/**
 * Every fiber copies what it inherits, and gets its context and its flags anew anyway: it need not inherit those, too. And
 * it does not count in Effect's own metrics of fibers (`effect_fiber_…`), which look a histogram up at the end of each.
 */
export const lean: <R>(runtime: Runtime.Runtime<R>) => Runtime.Runtime<R> = flow(
  Runtime.updateFiberRefs(
    flow(FiberRefs.delete(FiberRef.currentContext), FiberRefs.delete(FiberRef.currentRuntimeFlags))
  ),
  Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics)
)
