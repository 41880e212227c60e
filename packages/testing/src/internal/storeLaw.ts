/** Laws of the stores as generators, each over a fixture of its own. */
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import type * as FastCheck from "effect/FastCheck"
import type { YieldWrap } from "effect/Utils"
import { forAll, type Law, law } from "../Law.ts"
import { clearQueue } from "./clearQueue.ts"
import { type Fixture, make } from "./fixture.ts"

/** Steps as in `Effect.gen`. */
export type Steps<A = unknown, R = never> = Generator<YieldWrap<Effect.Effect<unknown, unknown, R>>, A, unknown>

/** A law over a new fixture. */
export const storeLaw = (name: string, check: (f: Fixture) => Steps<unknown, Stores>): Law<Stores> =>
  law(name, () => Effect.flatMap(make, (f) => Effect.gen(() => check(f))))

/** A law over a new fixture and an empty queue. */
export const queueLaw = (name: string, check: (f: Fixture) => Steps<unknown, Stores>): Law<Stores> =>
  law(name, () => Effect.zipRight(clearQueue, Effect.flatMap(make, (f) => Effect.gen(() => check(f)))))

/** Checks `numRuns` arbitrary values. */
export const forEach = <A>(arbitrary: FastCheck.Arbitrary<A>, numRuns: number, check: (value: A) => Steps) =>
  forAll(arbitrary, (value) => Effect.gen(() => check(value)), { numRuns })
