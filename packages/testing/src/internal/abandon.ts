/** Lets go of the fibers of a world that is over. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Predicate from "effect/Predicate"
import type * as Scheduler from "effect/Scheduler"

/**
 * Ends every daemon of this scheduler, without running anything of it.
 *
 * Effect remembers a daemon until it ends, and what was killed or waits for ever never does: without this, a thousand
 * worlds would be kept in memory.
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
