/** Stops an operation between two steps, so that others run in the middle of it, or it is interrupted there. Real time. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scheduler from "effect/Scheduler"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

class SteppingScheduler implements Scheduler.Scheduler {
  steps = 0
  /** The steps at which it continued after a wait, for example for a database. */
  readonly awakenings: Array<number> = []
  #state: "running" | "stopping" | "stopped" = "running"
  #held: Scheduler.Task | undefined
  readonly #stopAt: number
  readonly #canStop: (fiber: AnyFiber) => boolean
  readonly #stopped: () => void

  constructor(stopAt: number, canStop: (fiber: AnyFiber) => boolean, stopped: () => void) {
    this.#stopAt = stopAt
    this.#canStop = canStop
    this.#stopped = stopped
  }

  shouldYield(fiber: AnyFiber): number | false {
    if (this.steps++ < this.#stopAt || this.#state !== "running" || !this.#canStop(fiber)) {
      return fiber.currentOpCount > 2048 ? 0 : false
    }
    this.#state = "stopping"
    return 0
  }

  scheduleTask(task: Scheduler.Task): void {
    if (this.#state !== "stopping") {
      this.awakenings.push(this.steps)
      return queueMicrotask(task)
    }
    this.#state = "stopped"
    this.#held = task
    this.#stopped()
  }

  goOn(): void {
    const task = this.#held
    this.#held = undefined
    if (task !== undefined) queueMicrotask(task)
  }
}

/** Begins an operation that stops at a step. */
const begun = <A, E, R>(operation: Effect.Effect<A, E, R>, step: number, canStop: (fiber: AnyFiber) => boolean) =>
  Effect.gen(function*() {
    const stopping = Deferred.unsafeMake<void>(yield* Effect.fiberId)
    const hasStopped = () => Deferred.unsafeDone(stopping, Effect.void)
    const scheduler = new SteppingScheduler(step, canStop, hasStopped)
    const fiber = yield* Effect.forkDaemon(Effect.withScheduler(operation, scheduler))
    fiber.addObserver(hasStopped)
    return { fiber, goOn: Effect.sync(() => scheduler.goOn()), scheduler, stopping }
  })

/** An operation that has stopped, or has ended before, or waits for another one. */
export interface Stopped<A, E> {
  /** Runs it to its end. */
  readonly end: Effect.Effect<Exit.Exit<A, E>>
  /** Number of its steps, and the steps at which it continued after a wait. */
  readonly taken: () => { readonly steps: number; readonly awakenings: ReadonlyArray<number> }
}

/**
 * Runs an operation and stops it after this number of steps. One that makes no step for twice its usual duration waits for
 * another one, for example for a lock.
 */
export const stopAt = <A, E, R>(
  operation: Effect.Effect<A, E, R>,
  step: number,
  usualMillis = 0
): Effect.Effect<Stopped<A, E>, never, R> =>
  Effect.gen(function*() {
    const { fiber, goOn, scheduler, stopping } = yield* begun(operation, step, () => true)
    const patience = Math.min(Math.max(4, 2 * usualMillis), 20)
    yield* Effect.yieldNow()
    for (let seen = -1; seen !== scheduler.steps && !(yield* Deferred.isDone(stopping));) {
      seen = scheduler.steps
      yield* Effect.timeoutOption(Deferred.await(stopping), patience)
    }
    const end = Deferred.await(stopping).pipe(Effect.zipRight(goOn), Effect.zipRight(Fiber.await(fiber)))
    return { end, taken: () => scheduler }
  })

/** Whether a fiber can be interrupted now. Its flags are not in the interface. */
const isInterruptible = (fiber: AnyFiber): boolean => {
  const flags: unknown = Reflect.get(fiber, "currentRuntimeFlags")
  return typeof flags !== "number" || (flags & RuntimeFlags.Interruption) !== 0
}

/** Interrupts an operation after this number of steps, at the first one that can be interrupted. */
export const interruptAt = <A, E, R>(
  operation: Effect.Effect<A, E, R>,
  step: number
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.flatMap(begun(operation, step, isInterruptible), ({ fiber, goOn, stopping }) =>
    Deferred.await(stopping).pipe(
      Effect.zipRight(Fiber.interruptFork(fiber)),
      // An interruption passes through fibers that wait for each other before it reaches the one that has stopped.
      Effect.zipRight(Effect.repeatN(Effect.yieldNow(), 20)),
      Effect.zipRight(goOn),
      Effect.zipRight(Fiber.await(fiber))
    ))
