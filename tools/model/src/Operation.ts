/**
 * The language of programs: what users, applications, receivers and operators can do.
 *
 * A number chooses among the existing records, newest first, modulo their count. So every part of a program is a
 * program, and a counterexample shrinks by leaving operations out. Every program starts with a platform user, an
 * athlete, an organizer, two applications and a registration of the athlete with the organizer.
 */
import type { Role } from "@startlist/core/User"
import type * as Data from "effect/Data"
import * as FastCheck from "effect/FastCheck"

/** The `Idempotency-Key` of a client. An empty one is not sent. */
type Key = "" | "one" | "two"

/** Operations that are requests to the services. */
export type Request = Data.TaggedEnum<{
  /** A user allows an application, which gets a code. */
  Consent: { readonly user: number; readonly application: number; readonly pkce: boolean }
  /** An application presents a code. `slip` is its mistake. */
  Redeem: { readonly code: number; readonly key: Key; readonly slip: "none" | "client" | "verifier" | "redirect" }
  /** An application presents a refresh token, current or not. If it is `stolen`, the application is another one. */
  Refresh: { readonly token: number; readonly key: Key; readonly stolen: boolean }
  /** An application revokes a token. If it is `stolen`, the application is another one. */
  Revoke: { readonly by: "access" | "refresh"; readonly token: number; readonly stolen: boolean }
  /** An application calls the API with an access token. */
  Call: { readonly token: number }
  /** The user of a code revokes the application's access. */
  RevokeByUser: { readonly code: number }
  /** An application subscribes. `callback` is how its callback answers the challenge. */
  Subscribe: { readonly application: number; readonly callback: "right" | "wrong" | "hanging" }
  Unsubscribe: { readonly application: number }
  /** An operator suspends an application, or restores it. */
  SetState: { readonly application: number; readonly state: "active" | "suspended" }
  /** An operator revokes all grants of an application. */
  RevokeAll: { readonly application: number }
  /** An application is deleted. */
  End: { readonly application: number }
  /** A user is erased, with all of the user's grants. */
  Erase: { readonly user: number }
  /** A subscription is paused or resumed. */
  SetPaused: { readonly application: number; readonly paused: boolean }
  CreateRegistration: { readonly athlete: number; readonly organizer: number }
  /** A registration gets a status, perhaps the same one. */
  ChangeStatus: { readonly registration: number; readonly status: number }
  /** An event is delivered again. */
  Redeliver: { readonly delivery: number }
}>

/** Another user, or another application of the platform user. */
export type Creation = Data.TaggedEnum<{
  CreateUser: { readonly role: Role }
  CreateApplication: {}
}>

/** Operations that can run in parallel. */
export type Simple =
  | Request
  | Creation
  | Data.TaggedEnum<{
    /** Sets the behaviour of an application's receiver for its next events. */
    Receive: {
      readonly application: number
      readonly behaviours: ReadonlyArray<"comply" | "fail" | "hang" | "retry-after" | "slow">
    }
    /** A worker delivers for some seconds, then stops properly or is killed. */
    Work: { readonly seconds: number; readonly killed: boolean }
  }>

export type Operation =
  | Simple
  | Data.TaggedEnum<{
    /** Time passes. */
    Wait: { readonly seconds: number }
    /** Removes deliveries that have ended. */
    Purge: {}
    /** Runs operations in parallel. */
    Parallel: { readonly operations: ReadonlyArray<Simple> }
  }>

/** An operation of one kind. */
export type Of<Tag extends Operation["_tag"]> = Extract<Operation, { readonly _tag: Tag }>

export type Program = ReadonlyArray<Operation>

const choice = FastCheck.oneof({ weight: 3, arbitrary: FastCheck.constant(0) }, FastCheck.nat(7))
const one = <const A extends string>(...values: ReadonlyArray<A>): FastCheck.Arbitrary<A> =>
  FastCheck.constantFrom(...values)
const mostly = <const A extends string>(usual: A, ...rest: ReadonlyArray<A>): FastCheck.Arbitrary<A> =>
  FastCheck.oneof({ weight: 6, arbitrary: one(usual) }, one(...rest))
const key = one("", "", "one", "two")
const rarely = FastCheck.oneof({ weight: 6, arbitrary: FastCheck.constant(false) }, FastCheck.constant(true))

/** Operations of one kind, with arbitrary fields. */
const weighted = <A extends Simple>(
  weight: number,
  fields: { readonly [Name in keyof A]: FastCheck.Arbitrary<A[Name]> }
): FastCheck.WeightedArbitrary<A> => ({ weight, arbitrary: FastCheck.record<A>(fields).map((made): A => made) })

const simple = FastCheck.oneof<Array<FastCheck.WeightedArbitrary<Simple>>>(
  weighted(10, { _tag: one("Consent"), user: choice, application: choice, pkce: rarely }),
  weighted(14, { _tag: one("Redeem"), code: choice, key, slip: mostly("none", "client", "verifier", "redirect") }),
  weighted(10, { _tag: one("Refresh"), token: choice, key, stolen: rarely }),
  weighted(3, { _tag: one("Revoke"), by: one("access", "refresh"), token: choice, stolen: rarely }),
  weighted(4, { _tag: one("RevokeByUser"), code: choice }),
  weighted(6, { _tag: one("Subscribe"), application: choice, callback: mostly("right", "wrong", "hanging") }),
  weighted(2, { _tag: one("Unsubscribe"), application: choice }),
  weighted(2, { _tag: one("SetState"), application: choice, state: one("active", "suspended") }),
  weighted(1, { _tag: one("RevokeAll"), application: choice }),
  weighted(1, { _tag: one("End"), application: choice }),
  weighted(1, { _tag: one("Erase"), user: choice }),
  weighted(2, { _tag: one("Call"), token: choice }),
  weighted(2, { _tag: one("SetPaused"), application: choice, paused: FastCheck.boolean() }),
  weighted(7, { _tag: one("ChangeStatus"), registration: choice, status: FastCheck.nat(3) }),
  weighted(1, { _tag: one("Redeliver"), delivery: choice }),
  weighted(2, {
    _tag: one("Receive"),
    application: choice,
    behaviours: FastCheck.array(one("fail", "hang", "retry-after", "slow", "comply"), { minLength: 1, maxLength: 4 })
  }),
  weighted(1, { _tag: one("CreateUser"), role: one("athlete", "organizer", "club") }),
  weighted(1, { _tag: one("CreateApplication") }),
  weighted(1, { _tag: one("CreateRegistration"), athlete: choice, organizer: choice }),
  weighted(4, { _tag: one("Work"), seconds: FastCheck.constantFrom(1, 5, 30, 100), killed: rarely })
)

const day = 86_400

/** Just before, at and just after every limit. */
const limits = [1, 10, 59, 60, 61, 599, 600, 299, 300, 301, 28_799, 28_800, 28_801, 31 * day, 90 * day - 1, 90 * day]
const wait = FastCheck.constantFrom(...limits).map((seconds): Operation => ({ _tag: "Wait", seconds }))

/** One operation of each kind on the newest grant. */
const contest: ReadonlyArray<Simple> = [
  { _tag: "RevokeByUser", code: 0 },
  { _tag: "Redeem", code: 0, key: "", slip: "none" },
  { _tag: "Refresh", token: 0, key: "", stolen: false },
  { _tag: "Refresh", token: 0, key: "one", stolen: false },
  { _tag: "Refresh", token: 1, key: "one", stolen: false },
  { _tag: "Revoke", by: "access", token: 0, stolen: false },
  { _tag: "ChangeStatus", registration: 0, status: 1 },
  { _tag: "SetState", application: 0, state: "suspended" },
  { _tag: "RevokeAll", application: 0 },
  { _tag: "End", application: 0 },
  { _tag: "Erase", user: 0 }
]

const parallel = (operations: FastCheck.Arbitrary<Simple>): FastCheck.Arbitrary<Operation> =>
  FastCheck.oneof(
    FastCheck.array(operations, { minLength: 1, maxLength: 3 }),
    // Equal operations race.
    FastCheck.tuple(operations, FastCheck.integer({ min: 1, max: 3 })).map(([operation, times]) =>
      Array.from({ length: times }, () => operation)
    )
  ).map((operations) => ({ _tag: "Parallel", operations }))

/** Usually `usual`, but it shrinks to a single element. */
const some = <A>(all: ReadonlyArray<A>, usual: FastCheck.Arbitrary<Array<A>>): FastCheck.Arbitrary<Array<A>> =>
  FastCheck.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: FastCheck.shuffledSubarray([...all], { minLength: 1, maxLength: 1 }) },
    { weight: 5, arbitrary: usual }
  )

/** An active grant, and operations that race for it. */
const race: FastCheck.Arbitrary<Program> = FastCheck.tuple(
  some([0, 1, 2], FastCheck.constant([0, 1, 2])),
  some(contest, FastCheck.shuffledSubarray([...contest], { minLength: 2, maxLength: 3 }))
).map(([places, operations]) => {
  const all: ReadonlyArray<Operation> = [
    { _tag: "Consent", user: 0, application: 0, pkce: false },
    { _tag: "Redeem", code: 0, key: "one", slip: "none" },
    { _tag: "Parallel", operations }
  ]
  return all.filter((_, place) => places.includes(place))
})

/** Connections of one user, workers with old tokens, and callback pages that are loaded again (law 1c). */
const connections: FastCheck.Arbitrary<Program> = FastCheck.array(
  FastCheck.oneof<FastCheck.WeightedArbitrary<Program>[]>(
    {
      weight: 1,
      arbitrary: FastCheck.constant<Program>([
        { _tag: "Consent", user: 0, application: 0, pkce: false },
        { _tag: "Redeem", code: 0, key: "one", slip: "none" }
      ])
    },
    {
      weight: 3,
      arbitrary: FastCheck.oneof(
        FastCheck.record<Operation & { _tag: "Refresh" }>({
          _tag: one("Refresh"),
          token: FastCheck.nat(3),
          key,
          stolen: rarely
        }),
        FastCheck.record<Operation & { _tag: "Redeem" }>({
          _tag: one("Redeem"),
          code: FastCheck.nat(1),
          key,
          slip: one("none")
        }),
        FastCheck.constantFrom<Operation[]>({ _tag: "Wait", seconds: 59 }, { _tag: "Wait", seconds: 61 })
      ).map((operation) => [operation])
    }
  ),
  { minLength: 3, maxLength: 8 }
).map((parts) => parts.flat())

const sequence: ReadonlyArray<FastCheck.WeightedArbitrary<Operation>> = [
  { weight: 12, arbitrary: simple },
  { weight: 2, arbitrary: wait },
  { weight: 1, arbitrary: FastCheck.constant<Operation>({ _tag: "Purge" }) }
]

/** Programs of some `length` parts, with parallel groups and workers. */
export const program = (length = 20): FastCheck.Arbitrary<Program> => {
  const part = FastCheck.oneof(...sequence, { weight: 2, arbitrary: parallel(simple) })
  return FastCheck.array(
    FastCheck.oneof<FastCheck.WeightedArbitrary<Program>[]>(
      { weight: 15, arbitrary: part.map((operation) => [operation]) },
      { weight: 4, arbitrary: race },
      { weight: 1, arbitrary: connections }
    ),
    { maxLength: length, size: "max" }
  ).map((parts) => parts.flat())
}
