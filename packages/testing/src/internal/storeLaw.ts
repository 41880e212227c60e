/** Laws of the stores as generators. Each has its own fixture. */
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as FastCheck from "effect/FastCheck"
import * as Random from "effect/Random"
import type { YieldWrap } from "effect/Utils"
import { forAll, type Law, law } from "../Suite.ts"
import { type Fixture, make, settled } from "./fixture.ts"
import { rounds } from "./rounds.ts"

/** Steps as in `Effect.gen`. */
export type Steps<A = unknown, R = never> = Generator<YieldWrap<Effect.Effect<unknown, unknown, R>>, A, unknown>

/** An instant after all leases and pauses. */
const never = DateTime.unsafeMake("2200-01-01T00:00:00.000Z")

/** Ends pending deliveries of other laws, so that claims find only the law's own. */
export const clearQueue: Effect.Effect<void, StoreError, DeliveryQueue> = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const label = (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
  for (let round = 0; round < 10_000; round++) {
    const claimed = yield* queue.claim({
      now: never,
      leaseEnds: DateTime.add(never, { seconds: 1 }),
      token: `clear-${label}-${round}`,
      limit: 1000,
      perSubscription: 1000,
      allowances: new Map()
    })
    if (claimed.length === 0) return
    yield* queue.settle(settled(claimed))
  }
  return yield* Effect.dieMessage("the queue does not become empty")
})

/** A law over a new fixture. */
export const storeLaw = (name: string, check: (f: Fixture) => Steps<unknown, Stores>): Law<Stores> =>
  law(name, () => Effect.flatMap(make, (f) => Effect.gen(() => check(f))))

/** A law over a new fixture and an empty queue. */
export const queueLaw = (name: string, check: (f: Fixture) => Steps<unknown, Stores>): Law<Stores> =>
  law(name, () => Effect.zipRight(clearQueue, Effect.flatMap(make, (f) => Effect.gen(() => check(f)))))

/** A check that is repeated. */
export const often = (check: (f: Fixture, round: number) => Steps, limits = { least: 4, most: 20, millis: 100 }) =>
  function*(f: Fixture): Steps<void> {
    yield* rounds((round) => Effect.gen(() => check(f, round)), limits)
  }

/** Checks `numRuns` arbitrary values. */
export const forEach = <A>(arbitrary: FastCheck.Arbitrary<A>, numRuns: number, check: (value: A) => Steps) =>
  forAll(arbitrary, (value) => Effect.gen(() => check(value)), { numRuns })
