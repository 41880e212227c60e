/** Repeats trials. Each time, operations race at another moment. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { Effort } from "../Suite.ts"
import { turn } from "./eventLoop.ts"
import { stopAt } from "./stepping.ts"

/** All at the same time. */
export const together = { concurrency: "unbounded" } as const

/** Stores in this process reach `most`. Stores that wait for a database end after `millis`. */
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
    const { factor } = yield* Effort
    for (let round = 0; round < most; round++) {
      if (round >= least && (yield* Clock.currentTimeMillis) - began > factor * millis) return
      yield* trial(round)
    }
  })

/** Repeats a trial until it fails or a limit is reached. */
export const rounds = <E, R>(
  trial: (round: number) => Effect.Effect<unknown, E, R>,
  limits: Limits = { least: 1, most: 20, millis: 20 }
): Effect.Effect<void, E, R> =>
  Effect.flatMap(Effort, ({ factor }) => {
    const [least, most] = [limits.least, limits.most].map((count) => Math.ceil(factor * count))
    return within({ ...limits, least: least ?? 1, most: most ?? 1 }, trial)
  })

/** Steps at which an operation can be stopped. A sweep must try at least `least` of them. */
export interface Stops<A> {
  readonly order: ReadonlyArray<A>
  readonly least: number
  /** The first ones of `order`, between an answer of a database and the next statement. Zero without a database. */
  readonly between: number
  /** Duration of the operation alone. */
  readonly millis: number
}

/** Of an operation that was not measured yet. */
export const noStops: Stops<never> = { order: [], least: 0, between: 0, millis: 0 }

/** Runs a trial for each stop, or for the first ones if it takes long. */
export const sweep = <A, E, R>(
  { least, order }: Pick<Stops<A>, "least" | "order">,
  trial: (one: A) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  within({ least: Math.min(least, order.length), most: order.length, millis: 30 }, (round) => {
    const one = order[round]
    return one === undefined ? Effect.void : trial(one)
  })

const goldenRatio = (Math.sqrt(5) - 1) / 2

/** Number of steps that are tried in any case: all of most operations. */
const fewSteps = 40

/**
 * Runs an operation and returns its steps and its answer. The first steps are those between an answer of a database and
 * the next statement: there another process can interfere, and an interruption cancels no statement. Then the others,
 * each far from those before it.
 */
export const measured = <A, E>(operation: Effect.Effect<A, E>): Effect.Effect<readonly [Stops<number>, A], E> =>
  Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    const stopped = yield* stopAt(operation, Infinity)
    const answer = yield* yield* stopped.end
    const millis = (yield* Clock.currentTimeMillis) - began
    const { awakenings, steps } = stopped.taken()
    const between = awakenings.map((from, place) => Math.floor((from + (awakenings[place + 1] ?? steps)) / 2))
    // Of very many, the last and the first ones come first: a store reads new records after old ones, or before them.
    const ends = [...between.slice(-fewSteps / 4).reverse(), ...between.slice(0, fewSteps / 4)]
    // Right after the last answer, a store may still have to show what it has written.
    const order = new Set([...awakenings.slice(-1), ...ends, ...yield* Random.shuffle(between)])
    const known = order.size
    const start = yield* Random.next
    for (let place = 0; order.size < steps; place++) order.add(Math.floor((start + place * goldenRatio) % 1 * steps))
    const least = awakenings.length === 0 ? fewSteps : Math.min(fewSteps, awakenings.length + 1)
    return [{ order: [...order], least, between: known, millis }, answer]
  })

/** Runs an operation and returns its steps. */
export const stepsOf = <E>(operation: Effect.Effect<unknown, E>): Effect.Effect<Stops<number>, E> =>
  Effect.map(measured(operation), ([steps]) => steps)

/**
 * Runs operations up to a step each, then another one, and then the rest of all. `millis` is the duration of the longest
 * of them alone.
 */
export const inTheMiddle = <A, E, B, E2>(
  operations: ReadonlyArray<readonly [operation: Effect.Effect<A, E>, step: number]>,
  another: Effect.Effect<B, E2>,
  millis: number
): Effect.Effect<readonly [ReadonlyArray<A>, B], E | E2> =>
  Effect.gen(function*() {
    const stopped = yield* Effect.forEach(operations, ([operation, step]) => stopAt(operation, step, millis))
    const { end } = yield* stopAt(another, Infinity, millis)
    const exits = yield* Effect.all(stopped.map(({ end }) => end), { concurrency: "unbounded" })
    return [yield* Effect.all(exits), yield* yield* end]
  })

/** Begins later: after some steps of other fibers, and sometimes of sockets and timers. */
const shifted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function*() {
    const [steps, naps] = [yield* Random.nextIntBetween(0, 6), yield* Random.nextIntBetween(-4, 3)]
    for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
    for (let nap = 0; nap < naps; nap++) yield* Effect.sleep(0)
    return yield* effect
  })

/** Runs these in parallel. Each begins at a random moment. */
export const atOnce = <A, E>(contenders: ReadonlyArray<Effect.Effect<A, E>>): Effect.Effect<ReadonlyArray<A>, E> =>
  Effect.all(contenders.map(shifted), { concurrency: "unbounded" })

/**
 * Runs these in parallel, often, and interrupts every third one, each time some turns of the event loop later. `check` gets
 * the answers of the others, each with its place.
 */
export const besideInterrupted = <A, E, E2>(
  contenders: Effect.Effect<ReadonlyArray<Effect.Effect<A, E>>, E2>,
  check: (answer: A, place: number) => void
): Effect.Effect<void, E | E2> =>
  Effect.forEach([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64], (turns) =>
    Effect.gen(function*() {
      const fibers = yield* Effect.forEach(yield* contenders, Effect.fork)
      for (let passed = 0; passed < turns; passed++) yield* turn
      const isInterrupted = (place: number) => place % 3 === 0
      yield* Effect.forEach(fibers.filter((_, place) => isInterrupted(place)), (one) => Fiber.interruptFork(one))
      for (const [place, fiber] of fibers.entries()) if (!isInterrupted(place)) check(yield* Fiber.join(fiber), place)
    }), { discard: true })

/** Runs an operation and interrupts it at a random moment, within twice its duration. */
export const interrupted = (operation: Effect.Effect<unknown, unknown>, millis: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(shifted(operation))
    yield* Effect.sleep(yield* Random.nextRange(0, 2 * millis))
    yield* Fiber.interrupt(fiber)
  })

/** Looks again while a database completes a statement whose caller was interrupted. */
export const atRest = <A, E>(
  seen: Effect.Effect<A, E>,
  isWhole: (seen: A) => boolean,
  left = 20
): Effect.Effect<A, E> =>
  Effect.flatMap(seen, (found) =>
    left === 0 || isWhole(found)
      ? Effect.succeed(found)
      : Effect.delay(Effect.suspend(() => atRest(seen, isWhole, left - 1)), 50))
