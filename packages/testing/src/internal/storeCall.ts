/** A call of a random program over the stores: how it is judged by the model, and how it chooses its records and values. */
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type User, UserId } from "@startlist/core/User"
import { ApplicationId } from "@startlist/core/Application"
import { Audience, type Event, type Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import { maxId } from "@startlist/core/Store"
import * as Arbitraries from "../Arbitraries.ts"
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

/** Fields of an application. */
export const settings = FastCheck.tuple(Arbitraries.settings, Arbitraries.clientSecrets).map(([fields, secrets]) => ({
  ...fields,
  secrets
}))

export const signingSecrets = FastCheck.array(
  FastCheck.tuple(Arbitraries.lifetime, Arbitraries.nonEmptyText())
    .map(([fields, value]) => ({ ...fields, value: Redacted.make(value) })),
  { minLength: 1, maxLength: 6 }
)

/** Fields of a subscription. */
export const callbacks = FastCheck.record({
  callbackUrl: Arbitraries.nonEmptyText(255),
  createdAt: Arbitraries.instant,
  updatedAt: Arbitraries.instant
})

const scope = FastCheck.array(Arbitraries.scopeName, { maxLength: 4 })
const span = FastCheck.tuple(Arbitraries.instant, Arbitraries.instant)

const grants = FastCheck.record({
  scopes: FastCheck.tuple(scope, scope, scope),
  epoch: FastCheck.nat(),
  generation: FastCheck.nat(),
  lineStart: FastCheck.nat(),
  grantedAt: Arbitraries.instant,
  role: FastCheck.constantFrom<Grant["role"]>("platform", "organizer", "club", "athlete"),
  refresh: Arbitraries.option(span),
  codes: FastCheck.array(
    FastCheck.record({
      redirectUri: Arbitraries.text(),
      scope,
      state: Arbitraries.option(Arbitraries.text(4096)),
      challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
      expiresAt: Arbitraries.instant,
      redeemed: Arbitraries.option(FastCheck.record({ at: Arbitraries.instant, line: FastCheck.nat() }))
    }),
    { maxLength: 20 }
  ),
  // Several tokens share a scope: that of the grant, or of an earlier consent.
  tokens: FastCheck.array(FastCheck.tuple(span, FastCheck.nat(2)), { maxLength: 20 })
})

/** Fields of a grant. */
export const grantFields = (by: Fixture, draw: Draw): Partial<Grant> => {
  const { codes, refresh, scopes, tokens, ...fields } = draw.any(grants)
  return {
    ...fields,
    scope: scopes[0],
    refresh: Option.map(refresh, ([issuedAt, expiresAt]) => by.refresh({ issuedAt, expiresAt })),
    codes: codes.map(by.code),
    access: tokens.map(([[createdAt, expiresAt], kind]) =>
      by.access({ createdAt, expiresAt, scope: scopes[kind] ?? [] })
    )
  }
}

/** An event, usually about one of few objects. */
const event = ({ now }: Subjects, by: Fixture, draw: Draw): Event => {
  const objectType = draw.choice("registration", "registration", "athlete", "organizer")
  const about = objectType === "registration" ? {} : { aspectType: "deleted", updates: {} } as const
  const fields = draw.number(6) === 5 && objectType === "registration"
    ? {
      updates: draw.any(Arbitraries.updates),
      trace: draw.any(Arbitraries.trace),
      sequence: draw.any(Arbitraries.bigId)
    }
    : {}
  const objectId = draw.choice(1, 2, 3, 1, 2, 3, 11, 12, 21, 2 ** 31, 2 ** 53 - 2, maxId)
  const time = later(now, draw.choice(0, 0, -3, 7) + draw.choice(0, 0, 0.001, 0.5))
  return by.event(objectId, time, { ...about, ...fields, objectType })
}

/** Events, usually about few objects, for one application or for those of several users. */
export const events = (
  subjects: Subjects,
  by: Fixture,
  draw: Draw,
  users: ReadonlyArray<User> = subjects.users
): ReadonlyArray<Outgoing> => {
  const { id: applicationId } = applicationOf(subjects, draw) ?? { id: ApplicationId.make(maxId) }
  const number = draw.choice(2, 1, 3, 0, 0, draw.choice(1, 2, 4, 60))
  return Array.from({ length: number }, () => {
    const others = Array.from({ length: draw.choice(0, 0, 0, 40) }, (_, place) => UserId.make(place + 1))
    const userIds = [...others, ...draw.some(users).map(({ id }) => id)]
    const audience = draw.choice<Audience>(
      Audience.Application({ applicationId }),
      Audience.GrantedBy({ userIds }),
      Audience.Application({ applicationId: applicationOf(subjects, draw)?.id ?? applicationId })
    )
    return { event: event(subjects, by, draw), audience }
  })
}
