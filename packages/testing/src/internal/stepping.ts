/** Stops an operation between two steps, so that others run in the middle of it. Real time. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"

class SteppingScheduler implements Scheduler.Scheduler {
  steps = 0
  /** The steps at which it continued after a wait, for example for a database. */
  readonly awakenings: Array<number> = []
  #isStopping = false
  #held: Scheduler.Task | undefined
  readonly #stopAt: number
  readonly #stopped: () => void

  constructor(stopAt: number, stopped: () => void) {
    this.#stopAt = stopAt
    this.#stopped = stopped
  }

  shouldYield({ currentOpCount }: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    if (this.steps++ !== this.#stopAt) return currentOpCount > 2048 ? 0 : false
    this.#isStopping = true
    return 0
  }

  scheduleTask(task: Scheduler.Task): void {
    if (!this.#isStopping) {
      this.awakenings.push(this.steps)
      return queueMicrotask(task)
    }
    this.#isStopping = false
    this.#held = task
    this.#stopped()
  }

  goOn(): void {
    const task = this.#held
    this.#held = undefined
    if (task !== undefined) queueMicrotask(task)
  }
}

/** An operation that has stopped, or has ended before. */
export interface Stopped<A, E> {
  readonly isStopped: boolean
  /** Runs it to its end. */
  readonly end: Effect.Effect<Exit.Exit<A, E>>
  /** Interrupts it at its present step. */
  readonly interrupt: Effect.Effect<Exit.Exit<A, E>>
  /** Number of its steps, and the steps at which it continued after a wait. */
  readonly taken: () => { readonly steps: number; readonly awakenings: ReadonlyArray<number> }
}

/** Runs an operation and stops it after this number of steps. */
export const stopAt = <A, E, R>(
  operation: Effect.Effect<A, E, R>,
  steps: number
): Effect.Effect<Stopped<A, E>, never, R> =>
  Effect.gen(function*() {
    const stopping = Deferred.unsafeMake<boolean>(yield* Effect.fiberId)
    const scheduler = new SteppingScheduler(steps, () => Deferred.unsafeDone(stopping, Effect.succeed(true)))
    const fiber = yield* Effect.forkDaemon(Effect.withScheduler(operation, scheduler))
    fiber.addObserver(() => Deferred.unsafeDone(stopping, Effect.succeed(false)))
    const isStopped = yield* Deferred.await(stopping)
    const goOn = Effect.sync(() => scheduler.goOn())
    // An interruption passes through fibers that wait for each other before it reaches the one that has stopped.
    const reached = Effect.repeatN(Effect.yieldNow(), 20)
    return {
      isStopped,
      end: Effect.zipRight(goOn, Fiber.await(fiber)),
      interrupt: Fiber.interruptFork(fiber).pipe(
        Effect.zipRight(reached),
        Effect.zipRight(goOn),
        Effect.zipRight(Fiber.await(fiber))
      ),
      taken: () => scheduler
    }
  })
