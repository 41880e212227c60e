/** Trials that are made again and again, each with operations in another order. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { interleaved } from "./interleaving.ts"
import { stopAt } from "./stepping.ts"
import { tagOf } from "./expecting.ts"

/** Stores in this process reach the most; what waits for a database goes on for this long. */
const limits = { least: 10, most: 100, millis: 150 }

const within =
  (limits: { readonly least: number; readonly most: number; readonly millis: number }) =>
  <E, R>(trial: (round: number) => Effect.Effect<unknown, E, R>): Effect.Effect<void, E, R> =>
    Effect.gen(function*() {
      const began = yield* Clock.currentTimeMillis
      for (let round = 0; round < limits.most; round++) {
        if (round >= limits.least && (yield* Clock.currentTimeMillis) - began > limits.millis) return
        yield* trial(round)
      }
    })

/** Makes a trial in many rounds, or until one fails. */
export const rounds = <E, R>(trial: Effect.Effect<unknown, E, R>): Effect.Effect<void, E, R> =>
  within(limits)(() => trial)

/** Makes a trial for each of the steps of an operation that takes so many; for some of them, if that takes long. */
export const sweep = <E, R>(
  steps: number,
  trial: (step: number) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  Effect.flatMap(Random.shuffle(Array.from({ length: steps }).keys()), (order) => {
    const all = [...order]
    return within({ least: Math.min(25, steps), most: steps, millis: 250 })((round) => trial(all[round] ?? 0))
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

/** Stops the first of these at a step, while the others run. Answers like `atOnce`. */
export const stoppedAt = (
  step: number,
  [first = Effect.void, ...others]: ReadonlyArray<Effect.Effect<unknown, unknown>>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(
    inTheMiddle(tagOf(first), step, Effect.all(others.map((one) => tagOf(one)), { concurrency: "unbounded" })),
    ([first, others]) => [first, ...others]
  )

/** The steps of an operation, which is done for it. */
export const stepsOf = (operation: Effect.Effect<unknown, unknown>): Effect.Effect<number> =>
  Effect.flatMap(stopAt(operation, Infinity), (stopped) => Effect.as(stopped.end, stopped.steps()))

/** Begins a while later: some steps of this process, and sometimes milliseconds of others. */
const shifted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const [steps, naps] = [yield* Random.nextIntBetween(0, 6), yield* Random.nextIntBetween(-4, 3)]
    for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
    for (let nap = 0; nap < naps; nap++) yield* Effect.sleep(0)
    return yield* effect
  })

/** Runs these at once, in an order drawn by chance. Answers the tag of each failure, or "success". */
export const atOnce = (
  contenders: ReadonlyArray<Effect.Effect<unknown, unknown>>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const seed = yield* Random.nextIntBetween(0, 2 ** 31)
    return yield* interleaved(seed)(
      Effect.all(contenders.map((one) => tagOf(shifted(one))), { concurrency: "unbounded" })
    )
  })

/** So many look at once: more would hold up the operation in a store that does one thing at a time. */
const lookers = 2

/** Runs an operation, and takes looks by chance until it is over, and each look once then. The looks fail the whole. */
export const whileLooking = <E>(
  operation: Effect.Effect<unknown, E>,
  looks: ReadonlyArray<Effect.Effect<unknown, unknown>>
): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const seed = yield* Random.nextIntBetween(0, 2 ** 31)
    let isOver = false
    const looking = Effect.gen(function*() {
      for (let count = 1; !isOver; count++) {
        yield* looks[yield* Random.nextIntBetween(0, looks.length)] ?? Effect.void
        yield* count % 8 === 0 ? Effect.sleep(0) : Effect.yieldNow()
      }
    })
    const ending = Effect.ensuring(
      shifted(operation),
      Effect.sync(() => {
        isOver = true
      })
    )
    const all = [ending, ...Array.from({ length: lookers }, () => looking)]
    const exits = yield* interleaved(seed)(
      Effect.all(all.map((one) => Effect.exit(one)), { concurrency: "unbounded" })
    )
    for (const exit of exits) if (Exit.isFailure(exit)) return yield* exit
    yield* Effect.all(looks, { discard: true })
  })

/** Runs an operation and interrupts it at a moment drawn by chance, up to twice the time that it takes. */
export const interrupted = (operation: Effect.Effect<unknown, unknown>, millis: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const [seed, steps] = [yield* Random.nextIntBetween(0, 2 ** 31), yield* Random.nextIntBetween(0, 30)]
    const nap = yield* Random.nextRange(0, 2 * millis)
    yield* interleaved(seed)(Effect.gen(function*() {
      const fiber = yield* Effect.fork(operation)
      for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
      if (nap >= 1) yield* Effect.sleep(nap)
      yield* Fiber.interrupt(fiber)
    }))
  })
