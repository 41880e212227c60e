/**
 * Runs an effect, with everything that it forks, under a clock and a scheduler of its own.
 *
 * Time stands still while anything can run; when nothing can, it jumps to the next timer. Where it is asked for, what
 * runs next is drawn from a seed, between any two steps of any two fibers, so a seed names one interleaving and running
 * it again gives the same. A day costs as much as what happens in it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as GlobalValue from "effect/GlobalValue"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import type * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"
import { abandon } from "./internal/abandon.ts"

type AnyFiber = Fiber.RuntimeFiber<unknown, unknown>

/** A part of what runs that can be killed: a process. */
export interface Node {
  readonly name: string
  isAlive: boolean
}

const currentNode: FiberRef.FiberRef<Node | undefined> = GlobalValue.globalValue(
  "@startlist/testing/VirtualTime/currentNode",
  () => FiberRef.unsafeMake<Node | undefined>(undefined)
)

/** Nothing can run any more, and no timer is left: something waits for ever. */
export class Stuck extends Data.TaggedError("Stuck")<{ readonly message: string }> {}

export declare namespace VirtualTime {
  export interface Service {
    readonly startNode: (name: string) => Effect.Effect<Node>
    /** Runs an effect, and all that it forks, as part of a node. */
    readonly on: (node: Node) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Kills a node between two steps: nothing of it runs any more, no finalizer either. */
    readonly kill: (node: Node) => Effect.Effect<void>
    /** Runs an effect that needs real time (a database): virtual time waits for it. */
    readonly external: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** While this effect runs, fibers are made to let others run, by chance, between any two steps. */
    readonly interleaved: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
}

export class VirtualTime extends Context.Tag("@startlist/testing/VirtualTime")<VirtualTime, VirtualTime.Service>() {}

export interface Options {
  /** Names the interleaving. */
  readonly seed: number
  /** Milliseconds since 1970 at which it begins; default 2030. */
  readonly startsAt?: number
  /** In what is `interleaved`, a fiber runs for that many steps on average until others have a chance. Default: 60. */
  readonly turn?: number
  /** After so many steps it counts as stuck; default 20 million. */
  readonly maxSteps?: number
}

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
  /** Earliest last; of equals the one that was set first is last. */
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

  /** Moves to the next timer and rings it. */
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

/** Runs tasks one at a time, in an order drawn from a seed. */
class SeededScheduler implements Scheduler.Scheduler {
  readonly #tasks: Array<{ readonly run: Scheduler.Task; readonly fiber: AnyFiber | undefined }> = []
  readonly #random: PCGRandom
  readonly #turn: number
  readonly #arrived: () => void
  readonly outside = new Set<AnyFiber>()
  steps = 0
  interleaving = 0
  /** Steps until the next change of turns. */
  #left = 0

  constructor({ seed, turn = 60 }: Options, arrived: () => void) {
    this.#random = new PCGRandom(seed)
    this.#turn = turn
    this.#arrived = arrived
  }

  shouldYield(fiber: AnyFiber): number | false {
    if (fiber.getFiberRef(currentNode)?.isAlive === false) return 0
    if (this.interleaving > 0 && this.#left-- <= 0) {
      // Changing turns takes some twenty steps itself; to count every step by chance would never end.
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

/** Runs `effect` to its end in virtual time. */
export const run = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: Options
): Effect.Effect<A, E, Exclude<R, VirtualTime>> =>
  Effect.flatMap(Effect.runtime<Exclude<R, VirtualTime>>(), (runtime) =>
    Effect.async<A, E>((resume) => {
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
          if (!clock.advance()) return stuck("everything waits for something else, and no timer is left")
        }
        abandon(scheduler)
        resume(result)
      }

      const control = VirtualTime.of({
        startNode: (name) => Effect.sync(() => ({ name, isAlive: true })),
        on: (node) => Effect.locally(currentNode, node),
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
    }))

/** The same time, but a clock that shows it `offset` off: for one node of several. */
export const withClockOffset = (offset: Duration.DurationInput) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.clockWith((clock) => {
    const millis = Duration.toMillis(offset)
    const skewed: Clock.Clock = {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
      currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + BigInt(Math.round(millis * 1_000_000))),
      unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + millis,
      unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() + BigInt(Math.round(millis * 1_000_000)),
      sleep: (duration) => clock.sleep(duration)
    }
    return Effect.withClock(effect, skewed)
  })
