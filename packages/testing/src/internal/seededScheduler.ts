/** The scheduler of virtual time: a seed chooses the next task, and killed nodes do not run. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as GlobalValue from "effect/GlobalValue"
import * as Predicate from "effect/Predicate"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

/** The part of a node of `VirtualTime` that the scheduler needs. */
interface Node {
  readonly isAlive: boolean
}

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** The node that a fiber belongs to, with all that it forks. */
export const currentNode: FiberRef.FiberRef<Node | undefined> = GlobalValue.globalValue(
  "@startlist/testing/VirtualTime/currentNode",
  () => FiberRef.unsafeMake<Node | undefined>(undefined)
)

/** Runs tasks one at a time, in an order drawn from a seed. */
export class SeededScheduler implements Scheduler.Scheduler {
  readonly #tasks: Array<{ readonly run: Scheduler.Task; readonly fiber: AnyFiber | undefined }> = []
  readonly #random: PCGRandom
  readonly #turn: number
  readonly #arrived: () => void
  readonly outside = new Set<AnyFiber>()
  steps = 0
  interleaving = 0
  /** Number of steps until the next change of turns. */
  #left = 0

  constructor({ seed, turn = 60 }: { readonly seed: number; readonly turn?: number }, arrived: () => void) {
    this.#random = new PCGRandom(seed)
    this.#turn = turn
    this.#arrived = arrived
  }

  shouldYield(fiber: AnyFiber): number | false {
    if (fiber.getFiberRef(currentNode)?.isAlive === false) return 0
    if (this.interleaving > 0 && this.#left-- <= 0) {
      // A change of turns takes about 20 steps. Random turns below that would never end.
      this.#left = 20 + this.#random.integer(2 * this.#turn)
      return 0
    }
    return fiber.currentOpCount > 2048 ? 0 : false
  }

  scheduleTask(run: Scheduler.Task, _priority: number, fiber?: AnyFiber): void {
    if (fiber?.getFiberRef(currentNode)?.isAlive === false) {
      this.outside.delete(fiber)
      return
    }
    this.#tasks.push({ run, fiber })
    this.#arrived()
  }

  /** Runs one task, if there is one. */
  step(): boolean {
    const { length } = this.#tasks
    if (length === 0) return false
    const [task] = this.#tasks.splice(this.interleaving > 0 ? this.#random.integer(length) : 0, 1)
    this.steps++
    if (task?.fiber?.getFiberRef(currentNode)?.isAlive !== false) task?.run()
    return true
  }
}

/**
 * Ends every daemon of this scheduler without running it. Effect stores each daemon until it ends. Killed ones never
 * do, and the fibers of a thousand runs would fill the memory.
 */
export const abandon = (scheduler: Scheduler.Scheduler): void => {
  for (const fiber of Effect.runSync(Fiber.roots)) {
    if (fiber.getFiberRef(FiberRef.currentScheduler) !== scheduler) continue
    // Not in the interface of a fiber: interruption would need the fiber to run.
    if (Predicate.hasProperty(fiber, "setExitValue") && Predicate.isFunction(fiber.setExitValue)) {
      fiber.setExitValue(Exit.interrupt(fiber.id()))
    }
  }
}
