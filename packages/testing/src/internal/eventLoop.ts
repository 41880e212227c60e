/** Turns of the event loop: without them, no timer fires, such as the timeout of a test runner. */
import * as Effect from "effect/Effect"
import { MixedScheduler, type Task } from "effect/Scheduler"

/** Those of Node, also under the fake timers of a test runner. */
const { clearImmediate, setImmediate } = globalThis

/** One turn of the event loop. Statements of a database are sent and answered between turns. */
export const turn = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/**
 * Runs an effect again and again until a condition holds. Other fibers run before each time, and the event loop turns before
 * every fourth time: a store may need it for what is awaited.
 */
export const poll = <E, R>(effect: Effect.Effect<unknown, E, R>, until: () => boolean): Effect.Effect<void, E, R> =>
  Effect.gen(function*() {
    for (let times = 0; times === 0 || !until(); times++) {
      yield* times % 4 === 0 ? turn : Effect.yieldNow()
      yield* effect
    }
  })

/** Milliseconds after which fibers let the event loop turn. */
const share = 10

/**
 * The scheduler of laws. A fiber that a promise resumes never lets the event loop turn with Effect's own one: a law over a
 * store that answers in microtasks then ends only if it wants to.
 */
export class FairScheduler extends MixedScheduler {
  #turned = 0

  constructor() {
    super(2048)
  }

  override scheduleTask(...[task, ...others]: Parameters<MixedScheduler["scheduleTask"]>): void {
    if (performance.now() - this.#turned < share) return super.scheduleTask(task, ...others)
    const turned: Task = () => {
      this.#turned = performance.now()
      task()
    }
    setImmediate(turned)
  }
}

/** Never ends. `Effect.never` keeps a timer, and the fibers of killed nodes are not interrupted: no process would end. */
export const never: Effect.Effect<never> = Effect.async<never>(() => {})
