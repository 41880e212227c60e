/**
 * The language of programs: what users, applications, receivers and operators can do.
 *
 * A number chooses among the existing records, newest first, modulo their count. So every part of a program is a
 * program, and a counterexample shrinks by leaving operations out. Every program starts with a platform user, an
 * athlete, an organizer, two applications and a registration of the athlete with the organizer.
 */
import { Role } from "@startlist/core/User"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

const Choice = Schema.NonNegativeInt

/** Another user. */
export const CreateUser = Schema.TaggedStruct("CreateUser", { role: Role })
/** Another application of the platform user. */
export const CreateApplication = Schema.TaggedStruct("CreateApplication", {})
/** A user allows an application, which gets a code. */
export const Consent = Schema.TaggedStruct("Consent", { user: Choice, application: Choice, pkce: Schema.Boolean })
/** The `Idempotency-Key` of a client. An empty one is not sent. */
const Key = Schema.Literal("", "one", "two")
/** An application presents a code. `slip` is its mistake. */
export const Redeem = Schema.TaggedStruct("Redeem", {
  code: Choice,
  key: Key,
  slip: Schema.Literal("none", "client", "verifier", "redirect")
})
/** An application presents a refresh token, current or not. If it is `stolen`, the application is another one. */
export const Refresh = Schema.TaggedStruct("Refresh", { token: Choice, key: Key, stolen: Schema.Boolean })
/** An application revokes a token. If it is `stolen`, the application is another one. */
export const Revoke = Schema.TaggedStruct("Revoke", {
  by: Schema.Literal("access", "refresh"),
  token: Choice,
  stolen: Schema.Boolean
})
/** An application calls the API with an access token. */
export const Call = Schema.TaggedStruct("Call", { token: Choice })
/** The user of a code revokes the application's access. */
export const RevokeByUser = Schema.TaggedStruct("RevokeByUser", { code: Choice })
/** An application subscribes. `callback` is how its callback answers the challenge. */
export const Subscribe = Schema.TaggedStruct("Subscribe", {
  application: Choice,
  callback: Schema.Literal("right", "wrong", "hanging")
})
export const Unsubscribe = Schema.TaggedStruct("Unsubscribe", { application: Choice })
/** An operator suspends an application, or restores it. */
export const SetState = Schema.TaggedStruct("SetState", {
  application: Choice,
  state: Schema.Literal("active", "suspended")
})
/** An operator revokes all grants of an application. */
export const RevokeAll = Schema.TaggedStruct("RevokeAll", { application: Choice })
/** An application is deleted. */
export const End = Schema.TaggedStruct("End", { application: Choice })
/** A user is erased, with all of the user's grants. */
export const Erase = Schema.TaggedStruct("Erase", { user: Choice })
/** A subscription is paused or resumed. */
export const SetPaused = Schema.TaggedStruct("SetPaused", { application: Choice, paused: Schema.Boolean })
export const CreateRegistration = Schema.TaggedStruct("CreateRegistration", { athlete: Choice, organizer: Choice })
/** A registration gets a status, perhaps the same one. */
export const ChangeStatus = Schema.TaggedStruct("ChangeStatus", { registration: Choice, status: Choice })
/** An event is delivered again. */
export const Redeliver = Schema.TaggedStruct("Redeliver", { delivery: Choice })
/** Sets the behaviour of an application's receiver for its next events. */
export const Receive = Schema.TaggedStruct("Receive", {
  application: Choice,
  behaviours: Schema.Array(Schema.Literal("comply", "fail", "hang", "retry-after", "slow"))
})
/** A worker delivers for some seconds, then stops properly or is killed. */
export const Work = Schema.TaggedStruct("Work", { seconds: Schema.NonNegativeInt, killed: Schema.Boolean })

/** Operations that are requests to the services. */
export const Request = Schema.Union(
  Consent,
  Redeem,
  Refresh,
  Call,
  Revoke,
  RevokeByUser,
  Erase,
  Subscribe,
  Unsubscribe,
  SetState,
  RevokeAll,
  End,
  SetPaused,
  CreateRegistration,
  ChangeStatus,
  Redeliver
)
export type Request = typeof Request.Type

/** Operations that can run in parallel. */
export const Simple = Schema.Union(...Request.members, CreateUser, CreateApplication, Receive, Work)
export type Simple = typeof Simple.Type

/** Time passes. */
export const Wait = Schema.TaggedStruct("Wait", { seconds: Schema.NonNegativeInt })
/** Removes deliveries that have ended. */
export const Purge = Schema.TaggedStruct("Purge", {})
/** Runs operations in parallel. */
export const Parallel = Schema.TaggedStruct("Parallel", { operations: Schema.Array(Simple) })

export const Operation = Schema.Union(...Simple.members, Wait, Purge, Parallel)
export type Operation = typeof Operation.Type

export const Program = Schema.Array(Operation)
export type Program = typeof Program.Type

const choice = FastCheck.oneof({ weight: 3, arbitrary: FastCheck.constant(0) }, FastCheck.nat(7))
const one = <const A extends string>(...values: ReadonlyArray<A>): FastCheck.Arbitrary<A> =>
  FastCheck.constantFrom(...values)
const mostly = <const A extends string>(usual: A, ...rest: ReadonlyArray<A>): FastCheck.Arbitrary<A> =>
  FastCheck.oneof({ weight: 6, arbitrary: one(usual) }, one(...rest))
const key = one("", "", "one", "two")
const rarely = FastCheck.oneof({ weight: 6, arbitrary: FastCheck.constant(false) }, FastCheck.constant(true))

/** Operations of one kind, with arbitrary fields. */
const weighted = <Fields extends object>(
  weight: number,
  make: (fields: Fields) => Simple,
  fields: { readonly [Name in keyof Fields]: FastCheck.Arbitrary<Fields[Name]> }
): FastCheck.WeightedArbitrary<Simple> => ({ weight, arbitrary: FastCheck.record<Fields>(fields).map(make) })

const simple: FastCheck.Arbitrary<Simple> = FastCheck.oneof(
  weighted(10, (_) => Consent.make(_), { user: choice, application: choice, pkce: rarely }),
  weighted(14, (_) => Redeem.make(_), { code: choice, key, slip: mostly("none", "client", "verifier", "redirect") }),
  weighted(10, (_) => Refresh.make(_), { token: choice, key, stolen: rarely }),
  weighted(3, (_) => Revoke.make(_), { by: one("access", "refresh"), token: choice, stolen: rarely }),
  weighted(4, (_) => RevokeByUser.make(_), { code: choice }),
  weighted(6, (_) => Subscribe.make(_), { application: choice, callback: mostly("right", "wrong", "hanging") }),
  weighted(2, (_) => Unsubscribe.make(_), { application: choice }),
  weighted(2, (_) => SetState.make(_), { application: choice, state: one("active", "suspended") }),
  weighted(1, (_) => RevokeAll.make(_), { application: choice }),
  weighted(1, (_) => End.make(_), { application: choice }),
  weighted(1, (_) => Erase.make(_), { user: choice }),
  weighted(2, (_) => Call.make(_), { token: choice }),
  weighted(2, (_) => SetPaused.make(_), { application: choice, paused: FastCheck.boolean() }),
  weighted(7, (_) => ChangeStatus.make(_), { registration: choice, status: FastCheck.nat(3) }),
  weighted(1, (_) => Redeliver.make(_), { delivery: choice }),
  weighted(2, (_) => Receive.make(_), {
    application: choice,
    behaviours: FastCheck.array(one("fail", "hang", "retry-after", "slow", "comply"), { minLength: 1, maxLength: 4 })
  }),
  weighted(1, (_) => CreateUser.make(_), { role: one("athlete", "organizer", "club") }),
  weighted(1, (_) => CreateApplication.make(_), {}),
  weighted(1, (_) => CreateRegistration.make(_), { athlete: choice, organizer: choice }),
  weighted(4, (_) => Work.make(_), { seconds: FastCheck.constantFrom(1, 5, 30, 100), killed: rarely })
)

const day = 86_400

/** Just before, at and just after every limit. */
const limits = [1, 10, 59, 60, 61, 599, 600, 299, 300, 301, 28_799, 28_800, 28_801, 31 * day, 90 * day - 1, 90 * day]
const wait = FastCheck.constantFrom(...limits).map((seconds) => Wait.make({ seconds }))

/** One operation of each kind on the newest grant. */
const contest: ReadonlyArray<Simple> = [
  RevokeByUser.make({ code: 0 }),
  Redeem.make({ code: 0, key: "", slip: "none" }),
  Refresh.make({ token: 0, key: "", stolen: false }),
  Refresh.make({ token: 0, key: "one", stolen: false }),
  Refresh.make({ token: 1, key: "one", stolen: false }),
  Revoke.make({ by: "access", token: 0, stolen: false }),
  ChangeStatus.make({ registration: 0, status: 1 }),
  SetState.make({ application: 0, state: "suspended" }),
  RevokeAll.make({ application: 0 }),
  End.make({ application: 0 }),
  Erase.make({ user: 0 })
]

const parallel = (operations: FastCheck.Arbitrary<Simple>): FastCheck.Arbitrary<Operation> =>
  FastCheck.oneof(
    FastCheck.array(operations, { minLength: 1, maxLength: 3 }),
    // Equal operations race.
    FastCheck.tuple(operations, FastCheck.integer({ min: 1, max: 3 })).map(([operation, times]) =>
      Array.from({ length: times }, () => operation)
    )
  ).map((operations) => Parallel.make({ operations }))

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
    Consent.make({ user: 0, application: 0, pkce: false }),
    Redeem.make({ code: 0, key: "one", slip: "none" }),
    Parallel.make({ operations })
  ]
  return all.filter((_, place) => places.includes(place))
})

const sequence: ReadonlyArray<FastCheck.WeightedArbitrary<Operation>> = [
  { weight: 12, arbitrary: simple },
  { weight: 2, arbitrary: wait },
  { weight: 1, arbitrary: FastCheck.constant(Purge.make({})) }
]

/** Programs of some `length` parts, with parallel groups and workers. */
export const program = (length = 20): FastCheck.Arbitrary<Program> => {
  const part = FastCheck.oneof(...sequence, { weight: 2, arbitrary: parallel(simple) })
  return FastCheck.array(
    FastCheck.oneof<FastCheck.WeightedArbitrary<Program>[]>(
      { weight: 15, arbitrary: part.map((operation) => [operation]) },
      { weight: 4, arbitrary: race }
    ),
    { maxLength: length, size: "max" }
  ).map((parts) => parts.flat())
}
