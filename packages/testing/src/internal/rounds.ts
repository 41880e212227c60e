/** Trials that are made again and again, each time with operations that meet at another moment. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { stopAt } from "./stepping.ts"

/** Stores in this process reach the most; what waits for a database goes on for this long. */
interface Limits {
  readonly least: number
  readonly most: number
  readonly millis: number
}

const within = <E, R>(
  { least, millis, most }: Limits,
  trial: (round: number) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    for (let round = 0; round < most; round++) {
      if (round >= least && (yield* Clock.currentTimeMillis) - began > millis) return
      yield* trial(round)
    }
  })

/** Makes a trial in several rounds, or until one fails. */
export const rounds = <E, R>(trial: Effect.Effect<unknown, E, R>): Effect.Effect<void, E, R> =>
  within({ least: 2, most: 20, millis: 40 }, () => trial)

/** Where an operation can be stopped, and at how many of these it must be, even if that takes long. */
export interface Stops<A> {
  readonly order: ReadonlyArray<A>
  readonly least: number
}

/** Makes a trial for each of these, or for the first of them if that takes long. */
export const sweep = <A, E, R>(
  { least, order }: Stops<A>,
  trial: (one: A) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  within({ least: Math.min(least, order.length), most: order.length, millis: 60 }, (round) => {
    const one = order[round]
    return one === undefined ? Effect.void : trial(one)
  })

const goldenRatio = (Math.sqrt(5) - 1) / 2

/** In a store of this process, operations take few steps, and each of them counts. */
const fewSteps = 40

/**
 * The steps of an operation, which is done for it. First those after which something had answered, where another
 * process can come between; then the others, each far from those before it.
 */
export const stepsOf = (operation: Effect.Effect<unknown, unknown>, least: number): Effect.Effect<Stops<number>> =>
  Effect.gen(function*() {
    const stopped = yield* stopAt(operation, Infinity)
    yield* stopped.end
    const { awakenings, steps } = stopped.taken()
    const order = new Set(yield* Random.shuffle(awakenings))
    const start = yield* Random.next
    for (let place = 0; order.size < steps; place++) order.add(Math.floor((start + place * goldenRatio) % 1 * steps))
    return { order: [...order], least: awakenings.length === 0 ? fewSteps : least }
  })

/** So many milliseconds others may take in the middle of an operation: they may have to wait for it to end. */
const patience = 25

/** Runs an operation up to this step, then another, and then what is left of both. */
export const inTheMiddle = <A, E, B, E2>(
  operation: Effect.Effect<A, E>,
  step: number,
  another: Effect.Effect<B, E2>
): Effect.Effect<readonly [A, B], E | E2> =>
  Effect.gen(function*() {
    const stopped = yield* stopAt(operation, step)
    const fiber = yield* Effect.fork(another)
    yield* Effect.timeoutOption(Effect.disconnect(Fiber.await(fiber)), patience)
    const exit = yield* stopped.end
    return [yield* exit, yield* Fiber.join(fiber)]
  })

/** Begins a while later: some turns of other fibers, and sometimes of sockets and timers. */
const shifted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const [steps, naps] = [yield* Random.nextIntBetween(0, 6), yield* Random.nextIntBetween(-4, 3)]
    for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
    for (let nap = 0; nap < naps; nap++) yield* Effect.sleep(0)
    return yield* effect
  })

/** Runs these at the same time, each begun at a moment drawn by chance. */
export const atOnce = <A, E>(contenders: ReadonlyArray<Effect.Effect<A, E>>): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.all(contenders.map(shifted), { concurrency: "unbounded" })

/** Runs an operation and interrupts it at a moment drawn by chance, up to twice the time that it takes. */
export const interrupted = (operation: Effect.Effect<unknown, unknown>, millis: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(shifted(operation))
    yield* Effect.sleep(yield* Random.nextRange(0, 2 * millis))
    yield* Fiber.interrupt(fiber)
  })
