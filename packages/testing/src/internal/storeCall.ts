/** A call of a random program over the stores: how it is judged by the model, and how it chooses its records and values. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { User } from "@startlist/core/User"
import { same, tagOf } from "./expecting.ts"
import type { Fixture } from "./fixture.ts"
import type { StoreModel } from "./storeModel.ts"

/** Does the same in a model, and throws if the answer is not that of the model. */
export type Judge = (model: StoreModel) => void

/**
 * The identifiers of deliveries that a save has queued are not in its answer. A claim may read the subscription and the
 * signing secrets a moment later.
 */
type Topic = "identifiers" | "subscriptions and secrets"

/** One call of a store. */
export interface Call {
  readonly run: Effect.Effect<Judge, unknown>
  /** Does it in a model if the answer is unknown. Without it, the call is not interrupted. */
  readonly unanswered?: Judge
  /** The expected answer of a find. */
  readonly expected?: (model: StoreModel) => unknown
  /** The same call beside another one, if then it may leave something out. */
  readonly shared?: Effect.Effect<Judge, unknown>
  /** Of calls at the same time, none may change a topic of which another one tells. */
  readonly changes?: Topic
  readonly tells?: ReadonlyArray<Topic>
  /** Whether one of two equal calls is refused. */
  readonly isOnce?: boolean
  /** Whether other calls cannot run at the same time: it is several ones. */
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
  expected: (model: StoreModel) => unknown,
  fields: Partial<Call> = {}
): Call => call(run, expected, { ...fields, expected })

export const saved = (
  save: Effect.Effect<void, unknown>,
  act: (model: StoreModel) => boolean,
  fields: Partial<Call> = {}
): Call => predicted(tagOf(save), (model) => act(model) ? "success" : "Conflict", { ...fields, isOnce: true })

/** Before the times of other laws: nothing else is due, or ended, by then. */
export const time = (seconds: number): DateTime.Utc =>
  DateTime.add(DateTime.unsafeMake("1980-01-01T00:00:00.123Z"), { seconds })

/** Makes the choices of a call, one after the other. A smaller number is a simpler choice. */
export const makeDraw = (choices: ReadonlyArray<number>) => {
  let place = 0
  const number = (below: number): number => (choices[place++] ?? 0) % below
  return {
    number,
    /** One of these values. */
    choice: <const A>(...all: readonly [A, ...ReadonlyArray<A>]): A => all[number(all.length)] ?? all[0],
    /** One of these records, if there are any. Often the last one. */
    of: <A>(all: Iterable<A>): A | undefined => {
      const known = [...all]
      return number(3) === 0 ? known.at(-1) : known[number(Math.max(1, known.length))]
    },
    /** Any of the last nine of these. */
    some: <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => {
      const chosen = number(512)
      return all.slice(-9).filter((_, bit) => (chosen >> bit) % 2 === 1)
    }
  }
}

export type Draw = ReturnType<typeof makeDraw>

/** The records, users and time from which a call chooses. */
export interface Subjects {
  readonly model: StoreModel
  readonly users: readonly [User, User, User]
  readonly now: number
}

/** Makes a call by a handle. Undefined if there is no record for it. */
export type MakeCall = (subjects: Subjects, by: Fixture, draw: Draw) => Call | undefined

export const optional = Option.fromNullable

export const applicationOf = ({ model: { applications } }: Subjects, draw: Draw) => draw.of(applications.values())
