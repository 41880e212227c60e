/** A runtime for many short fibers. */
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Runtime from "effect/Runtime"

/** Every fiber copies what it inherits, and gets the context anew anyway: it need not inherit that, too. */
export const lean: <R>(runtime: Runtime.Runtime<R>) => Runtime.Runtime<R> = Runtime.updateFiberRefs(
  FiberRefs.delete(FiberRef.currentContext)
)
