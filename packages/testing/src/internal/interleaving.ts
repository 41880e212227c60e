/** Runs fibers so that another one may go on between any two steps, in an order drawn from a seed. Real time. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

/** A turn must be longer than the change of turns itself, which takes nine steps. */
const shortestTurn = 12

/** After so many tasks, the rest of the process has its turn: sockets and timers. */
const burst = 200

class InterleavingScheduler implements Scheduler.Scheduler {
  #tasks: Array<Scheduler.Task> = []
  readonly #random: PCGRandom
  readonly #turn: number
  #left: number
  #isDraining = false

  constructor(seed: number) {
    this.#random = new PCGRandom(seed)
    // Short turns find what is open for one step, long ones what needs a whole operation in between.
    this.#turn = [3, 10, 30, 100][this.#random.integer(4)] ?? 10
    this.#left = this.#random.integer(this.#turn)
  }

  shouldYield({ currentOpCount }: Fiber.RuntimeFiber<unknown, unknown>): number | false {
    if (this.#left-- > 0) return currentOpCount > 2048 ? 0 : false
    this.#left = shortestTurn + this.#random.integer(2 * this.#turn)
    return 0
  }

  scheduleTask(task: Scheduler.Task): void {
    this.#tasks.push(task)
    if (this.#isDraining) return
    this.#isDraining = true
    queueMicrotask(this.#drain)
  }

  readonly #drain = (): void => {
    for (let run = 0; run < burst && this.#tasks.length > 0; run++) {
      const [task] = this.#tasks.splice(this.#random.integer(this.#tasks.length), 1)
      task?.()
    }
    this.#isDraining = this.#tasks.length > 0
    if (this.#isDraining) setTimeout(this.#drain, 0)
  }
}

/** Runs an effect, and all that it forks, in the order that this seed names. */
export const interleaved = (seed: number) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() =>
    // A fiber keeps its scheduler: one that is begun under this one stays there.
    Effect.flatMap(Effect.fork(Effect.withScheduler(effect, new InterleavingScheduler(seed))), (fiber) => fiber)
  )
