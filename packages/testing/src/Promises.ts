/**
 * Code made of promises, such as an application under test, beside code made of effects.
 *
 * ```ts
 * const tokens = yield* Promises.run(() => application.refresh())
 * ```
 *
 * In `VirtualTime`, time stands still while the code works. It continues while the code waits for a delayed request of
 * an `UnreliableNetwork`. Code that waits for anything else in virtual time never ends: wait with `Effect.sleep`.
 */
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { VirtualTime } from "./VirtualTime.ts"

/** The pauses that code made of promises waits for, in one virtual time. */
interface Pauses {
  count: number
  /** Called when a pause begins or ends. */
  readonly listeners: Set<() => void>
}

const known = new WeakMap<VirtualTime.Service, Pauses>()

const pausesOf = (time: VirtualTime.Service): Pauses => {
  const pauses = known.get(time) ?? { count: 0, listeners: new Set() }
  known.set(time, pauses)
  return pauses
}

/** Number of turns of the event loop in which pending promises settle. */
const turns = 3

const afterTurns = (done: () => void, left = turns): void =>
  void setTimeout(() => left === 0 ? done() : afterTurns(done, left - 1), 0)

const inVirtualTime = <A>(time: VirtualTime.Service, code: () => Promise<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const pauses = pausesOf(time)
    let exit: Exit.Exit<A> | undefined
    let settled = () => {}
    const end = (made: Exit.Exit<A>) => {
      exit = made
      settled()
    }
    const start = async () => code()
    start().then((value) => end(Exit.succeed(value)), (error: unknown) => end(Exit.die(error)))

    /** Ends when `isOver` holds. `delay` schedules the next look after a pause begins. */
    const until = (isOver: () => boolean, delay: (look: () => void) => void) =>
      Effect.async<void>((resume) => {
        const look = () => {
          if (exit !== undefined || isOver()) resume(Effect.void)
        }
        const changed = () => delay(look)
        settled = look
        pauses.listeners.add(changed)
        changed()
        return Effect.sync(() => void pauses.listeners.delete(changed))
      }).pipe(Effect.ensuring(Effect.sync(() => settled = () => {})))

    const working = time.external(until(() => pauses.count > 0, afterTurns))
    const waiting = until(() => pauses.count === 0, (look) => look())
    const finish: Effect.Effect<A> = Effect.suspend(() => exit ?? Effect.zipRight(working, finishAfterPause))
    const finishAfterPause: Effect.Effect<A> = Effect.suspend(() => exit ?? Effect.zipRight(waiting, finish))
    return finish
  })

/** Runs the code to its end. A rejection is a defect. */
export const run = <A>(code: () => Promise<A>): Effect.Effect<A> =>
  Effect.flatMap(
    Effect.serviceOption(VirtualTime),
    Option.match({ onNone: () => Effect.promise(code), onSome: (time) => inVirtualTime(time, code) })
  )

/** A pause for which code made of promises waits. Virtual time continues. */
export const sleep = (duration: Duration.DurationInput): Effect.Effect<void> =>
  Effect.flatMap(Effect.serviceOption(VirtualTime), (time) => {
    if (Option.isNone(time)) return Effect.sleep(duration)
    const pauses = pausesOf(time.value)
    const change = (by: number) =>
      Effect.sync(() => {
        pauses.count += by
        for (const listener of pauses.listeners) listener()
      })
    return Effect.acquireUseRelease(change(1), () => Effect.sleep(duration), () => change(-1))
  })
