/** A call of a random program over the stores: how it is judged by the model, and how it chooses its records and values. */
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import type { User } from "@startlist/core/User"
import { holds, same, tagOf } from "./expecting.ts"
import type { Fixture } from "./fixture.ts"
import type { StoreModel } from "./storeModel.ts"

/** Does the same in a model, and throws if the answer is not that of the model. */
export type Judge = (model: StoreModel) => void

/** One call of a store. */
export interface Call {
  readonly run: Effect.Effect<Judge, unknown>
  /** Does it in a model if the answer is unknown. */
  readonly unanswered?: Judge
  /** Finds what it has made, if the answer is unknown. Without it and `unanswered`, the call is not interrupted. */
  readonly recovered?: Effect.Effect<Judge, unknown>
  /** The expected answer of a find. */
  readonly expected?: (model: StoreModel) => unknown
  /** The same call beside others, if then it may leave something out. */
  readonly shared?: Effect.Effect<Judge, unknown>
  /** Whether it changes the subscriptions and signing secrets that a claim shows, or is a claim. A claim reads them last. */
  readonly claims?: "shows" | "is shown"
  /** Whether a second one changes nothing if the first was done, and the first nothing if the second was done. */
  readonly isOnce?: boolean
  /** Whether others cannot run at the same time: it is several calls, or its answer leaves the order of theirs open. */
  readonly isAlone?: boolean
}

/** A call that `act` does in the model. Returns the expected answer. */
export const call = <A>(
  run: Effect.Effect<A, unknown>,
  act: (model: StoreModel, answer: A) => unknown,
  fields: Partial<Call> = {}
): Call => ({ ...fields, run: Effect.map(run, (answer) => (model) => same(answer, act(model, answer))) })

/** A call that the model can do without knowing the answer. */
export const predicted = <A>(
  run: Effect.Effect<A, unknown>,
  act: (model: StoreModel) => unknown,
  fields: Partial<Call> = {}
): Call => call(run, act, { ...fields, unanswered: act })

export const found = <A>(
  run: Effect.Effect<A, unknown>,
  expected: (model: StoreModel, answer?: A) => unknown
): Call => call(run, expected, { expected: (model) => expected(model) })

export const saved = (
  save: Effect.Effect<void, unknown>,
  act: (model: StoreModel) => boolean,
  fields: Partial<Call> = {}
): Call =>
  predicted(tagOf(save), (model) => act(model) ? "success" : "@startlist/core/Conflict", { ...fields, isOnce: true })

/** `seconds` after an instant. */
export const later = (instant: DateTime.Utc, seconds: number): DateTime.Utc => DateTime.add(instant, { seconds })

/**
 * Makes the choices of a call, one after the other. Seed zero always makes the simplest one, which is the first, and takes the
 * newest records. Seed -1 takes those before them.
 */
export const makeDraw = (seed: number) => {
  // Seeds that are close to each other make different choices.
  let state = Math.imul(seed, 0x9e3779b1)
  const number = (below: number): number => {
    if (seed <= 0) return 0
    state = Math.imul(state, 1664525) + 1013904223 >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
  return {
    number,
    /** One of these values. */
    choice: <const A>(...all: readonly [A, ...ReadonlyArray<A>]): A => all[number(all.length)] ?? all[0],
    /** One of these records, if there are any. Often the last one. */
    of: <A>(all: Iterable<A>): A | undefined => {
      const known = [...all]
      if (seed < 0 && known.length > 1) return known.at(-2)
      return number(3) === 0 ? known.at(-1) : known[number(Math.max(1, known.length))]
    },
    /** An arbitrary value. */
    any: <A>(arbitrary: FastCheck.Arbitrary<A>): A =>
      Option.getOrThrow(Arr.head(FastCheck.sample(arbitrary, { numRuns: 1, seed: number(1000) }))),
    /** Any of the last nine of these. */
    some: <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => {
      const chosen = number(512)
      return all.slice(-9).filter((_, bit) => (chosen >> bit) % 2 === 1)
    }
  }
}

export type Draw = ReturnType<typeof makeDraw>

/** A part of a store. Authors write one after the other. */
export type Part = "applications" | "subscriptions" | "outbox" | "grants" | "registrations" | "queue"

/** The parts, records, users and time from which a call chooses. */
export interface Subjects {
  readonly parts: ReadonlyArray<Part>
  readonly model: StoreModel
  readonly users: readonly [User, User, User]
  readonly now: DateTime.Utc
}

/** Makes a call by a handle. Undefined if there is no record for it. */
export type MakeCall = (subjects: Subjects, by: Fixture, draw: Draw) => Call | undefined

export const optional = Option.fromNullable

export const applicationOf = ({ model: { applications } }: Subjects, draw: Draw) => draw.of(applications.values())

/** Checks that an identifier is above all others, as every new one is. */
export const isNew = (id: number, others: Iterable<number>): void =>
  holds(id > Math.max(0, ...others), `identifier ${id} is a new one`)
