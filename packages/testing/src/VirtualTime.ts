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
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import { abandon, currentNode, SeededScheduler } from "./internal/seededScheduler.ts"
import { VirtualClock } from "./internal/virtualClock.ts"

/** A part of what runs that can be killed: a process. */
export interface Node {
  readonly name: string
  /** Its clock less the true time, in milliseconds. */
  readonly clockOffset: number
  isAlive: boolean
}

/** Nothing can run any more, and no timer is left: something waits for ever. */
export class Stuck extends Data.TaggedError("Stuck")<{ readonly message: string }> {}

export declare namespace VirtualTime {
  export interface Service {
    /** `clockOffset`: by how much its clock is ahead, in milliseconds; default 0. */
    readonly startNode: (name: string, clockOffset?: number) => Effect.Effect<Node>
    /** Runs an effect, and all that it forks, as part of a node and by its clock. */
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
        // From the true time: what begins on another node does not inherit the offset of that.
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
    }))

/** A clock that is `millis` ahead of another. Sleeps last as long as ever. */
const offsetBy = (clock: Clock.Clock, millis: number): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + BigInt(Math.round(millis * 1_000_000))),
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + millis,
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() + BigInt(Math.round(millis * 1_000_000)),
  sleep: (duration) => clock.sleep(duration)
})

/** The same time, but a clock that shows it `offset` off: for one node of several. */
export const withClockOffset = (offset: Duration.DurationInput) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.clockWith((clock) => Effect.withClock(effect, offsetBy(clock, Duration.toMillis(offset))))
