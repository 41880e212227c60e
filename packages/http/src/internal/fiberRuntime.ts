/** Runtimes of the bindings: built from layers, and fast for many short fibers. Fiber internals are used only here. */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import { flow } from "effect/Function"
import { globalValue } from "effect/GlobalValue"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

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

/**
 * Drops the FiberRefs that `runFork` sets anyway (context, runtime flags), so that each request fiber copies fewer. Also
 * switches off Effect's per-fiber metrics (`effect_fiber_…`), which look up a histogram at the end of each fiber.
 */
const lean: <R>(runtime: Runtime.Runtime<R>) => Runtime.Runtime<R> = flow(
  Runtime.updateFiberRefs(
    flow(FiberRefs.delete(FiberRef.currentContext), FiberRefs.delete(FiberRef.currentRuntimeFlags))
  ),
  Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics)
)

/** Ends the use of the Set in which Effect keeps the running fibers that have no parent. Its key is private. */
export const keepNoRoots = (): void => {
  const scope = globalValue(Symbol.for("effect/FiberScope/Global"), () => ({ add: (): void => {} }))
  scope.add = () => {}
}

/**
 * One queue of tasks for all requests: a scheduler that is not told the fiber has one for those. Effect otherwise makes a
 * queue for each fiber, in a WeakMap: 8 % of a check of a token on PostgreSQL.
 */
const withOneQueue = <R>(runtime: Runtime.Runtime<R>): Runtime.Runtime<R> => {
  const scheduler = FiberRefs.getOrDefault(runtime.fiberRefs, FiberRef.currentScheduler)
  return Runtime.setFiberRef(runtime, FiberRef.currentScheduler, {
    shouldYield: (fiber) => scheduler.shouldYield(fiber),
    scheduleTask: (task, priority) => scheduler.scheduleTask(task, priority)
  })
}

/**
 * Runs an effect in a fiber of its own, and calls `onExit` with its result. Returns a function that interrupts it, or
 * nothing if the effect has ended without waiting.
 */
export type Run<R> = <A, E>(
  effect: Effect.Effect<A, E, R>,
  onExit?: (exit: Exit.Exit<A, E>) => void
) => (() => void) | undefined

/** Makes the function that runs effects in this runtime. */
export const makeRunner = <R>(runtime: Runtime.Runtime<R>): Run<R> => {
  const runFork = Runtime.runFork(withOneQueue(lean(runtime)))
  return (effect, onExit = () => {}) => {
    const fiber = runFork(effect)
    const exit = fiber.unsafePoll()
    if (exit !== null) return void onExit(exit)
    fiber.addObserver(onExit)
    return () => fiber.unsafeInterruptAsFork(fiber.id())
  }
}
