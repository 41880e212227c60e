/**
 * Runs an effect, with everything that it forks, under a clock and a scheduler of its own.
 *
 * Time stands still while a fiber can run. When none can, it jumps to the next timer. In `interleaved` effects, a seed
 * chooses which fiber runs next, between any two steps, so one seed always gives the same interleaving.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as GlobalValue from "effect/GlobalValue"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"
import { turn } from "./internal/eventLoop.ts"

/** A simulated process, which can be killed. */
export interface Node {
  readonly name: string
  /** Milliseconds by which its clock is ahead of the true time. */
  readonly clockOffset: number
  isAlive: boolean
}

/** No fiber can run and no timer is left: a fiber waits forever. */
export class Stuck extends Data.TaggedError("@startlist/testing/Stuck")<{ readonly message: string }> {}

export declare namespace VirtualTime {
  export interface Service {
    /** Starts a node. `clockOffset`: milliseconds by which its clock is ahead. Default: 0. */
    readonly startNode: (name: string, clockOffset?: number) => Effect.Effect<Node>
    /** Runs an effect, and all that it forks, as part of a node and by its clock. */
    readonly on: (node: Node) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Kills a node between two steps. None of its fibers runs any more, nor their finalizers. */
    readonly kill: (node: Node) => Effect.Effect<void>
    /** Runs an effect that needs real time (a database): virtual time waits for it. */
    readonly external: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** While this effect runs, fibers yield to others at random between any two steps. */
    readonly interleaved: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
}

export class VirtualTime extends Context.Tag("@startlist/testing/VirtualTime")<VirtualTime, VirtualTime.Service>() {}

export interface Options {
  /** Selects the interleaving. */
  readonly seed: number
  /** Start in milliseconds since 1970. Default: 2030. */
  readonly startsAt?: number
  /** Mean number of steps of a fiber until another can run, in `interleaved` effects. Default: 60. */
  readonly turn?: number
  /** Number of steps after which the run counts as stuck. Default: 20 million. */
  readonly maxSteps?: number
}

/** Runs `effect` to its end in virtual time. The event loop turns before, so that timers of the process fire between runs. */
export const run = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: Options
): Effect.Effect<A, E, Exclude<R, VirtualTime>> =>
  Effect.gen(function*() {
    yield* turn
    const runtime = yield* Effect.runtime<Exclude<R, VirtualTime>>()
    return yield* Effect.async<A, E>((resume) => {
      const realTime = Clock.make()
      const clock = new VirtualClock(options.startsAt ?? 1_893_456_000_000)
      let isDriving = false
      let result: Exit.Exit<A, E> | undefined
      const scheduler = new SeededScheduler(options, () => {
        if (!isDriving) drive()
      })
      const maxSteps = options.maxSteps ?? 20_000_000

      const stuck = (message: string) => {
        isDriving = true
        resume(Effect.die(new Stuck({ message })))
      }
      const drive = () => {
        isDriving = true
        while (result === undefined) {
          if (scheduler.steps > maxSteps) return stuck(`no end after ${maxSteps} steps`)
          if (scheduler.step()) continue
          if (scheduler.outside.size > 0) {
            isDriving = false
            return
          }
          if (!clock.advance()) {
            return stuck(
              "Everything waits for something else, and no timer is left. Stores that need real time, as a database does, need `isExternal: true`."
            )
          }
        }
        abandon(scheduler)
        resume(result)
      }

      const control = VirtualTime.of({
        startNode: (name, clockOffset = 0) => Effect.sync(() => ({ name, clockOffset, isAlive: true })),
        // From the true time: an effect on another node must not inherit this node's offset.
        on: (node) => (effect) =>
          effect.pipe(
            Effect.locally(currentNode, node),
            Effect.withClock(node.clockOffset === 0 ? clock : offsetBy(clock, node.clockOffset))
          ),
        kill: (node) =>
          Effect.sync(() => {
            node.isAlive = false
          }),
        external: (effect) =>
          Effect.withFiberRuntime((fiber) => {
            scheduler.outside.add(fiber)
            return Effect.withClock(effect, realTime).pipe(
              Effect.ensuring(Effect.sync(() => scheduler.outside.delete(fiber)))
            )
          }),
        interleaved: (effect) =>
          Effect.acquireUseRelease(
            Effect.sync(() => scheduler.interleaving++),
            () => effect,
            () => Effect.sync(() => scheduler.interleaving--)
          )
      })

      isDriving = true
      const fiber = Runtime.runFork(runtime)(
        effect.pipe(
          Effect.provideService(VirtualTime, control),
          Effect.withClock(clock),
          Effect.withRandom(Random.make(options.seed))
        ),
        { scheduler }
      )
      fiber.addObserver((exit) => {
        result = exit
      })
      drive()
      return Effect.asVoid(Effect.sync(() => fiber.unsafeInterruptAsFork(fiber.id())))
    })
  })

/** A clock that is `millis` ahead of another. Sleeps are as long as before. */
const offsetBy = (clock: Clock.Clock, millis: number): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + BigInt(Math.round(millis * 1_000_000))),
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + millis,
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() + BigInt(Math.round(millis * 1_000_000)),
  sleep: (duration) => clock.sleep(duration)
})

interface Timer {
  readonly at: number
  readonly wake: () => void
}

/** A clock that is moved by hand. */
class VirtualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  readonly currentTimeMillis: Effect.Effect<number>
  readonly currentTimeNanos: Effect.Effect<bigint>
  #now: number
  /** The next timer is the last element. Of equal times, the one that was set first is the next. */
  readonly #timers: Array<Timer> = []

  constructor(now: number) {
    this.#now = now
    this.currentTimeMillis = Effect.sync(() => this.#now)
    this.currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())
  }

  unsafeCurrentTimeMillis(): number {
    return this.#now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(Math.round(this.#now * 1_000_000))
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const timer = { at: this.#now + Math.max(0, Duration.toMillis(duration)), wake: () => resume(Effect.void) }
      if (timer.at !== Infinity) this.#insert(timer)
      return Effect.sync(() => this.#remove(timer))
    })
  }

  /** Moves to the next timer and runs it. */
  advance(): boolean {
    const next = this.#timers.pop()
    if (next === undefined) return false
    this.#now = Math.max(this.#now, next.at)
    next.wake()
    return true
  }

  #insert(timer: Timer): void {
    let [low, high] = [0, this.#timers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#timers[middle]?.at ?? 0) > timer.at) low = middle + 1
      else high = middle
    }
    this.#timers.splice(low, 0, timer)
  }

  #remove(timer: Timer): void {
    const index = this.#timers.indexOf(timer)
    if (index >= 0) this.#timers.splice(index, 1)
  }
}

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** The node that a fiber belongs to, with all that it forks. */
const currentNode: FiberRef.FiberRef<Node | undefined> = GlobalValue.globalValue(
  "@startlist/testing/VirtualTime/currentNode",
  () => FiberRef.unsafeMake<Node | undefined>(undefined)
)

/** Runs tasks one at a time, in an order drawn from a seed. Tasks of killed nodes do not run. */
class SeededScheduler implements Scheduler.Scheduler {
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
const abandon = (scheduler: Scheduler.Scheduler): void => {
  for (const fiber of Effect.runSync(Fiber.roots)) {
    if (fiber.getFiberRef(FiberRef.currentScheduler) !== scheduler) continue
    // Not in the interface of a fiber: interruption would need the fiber to run.
    if (Predicate.hasProperty(fiber, "setExitValue") && Predicate.isFunction(fiber.setExitValue)) {
      fiber.setExitValue(Exit.interrupt(fiber.id()))
    }
  }
}
