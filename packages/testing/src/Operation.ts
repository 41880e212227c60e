/**
 * The language of programs: what users, applications, receivers and operators can do.
 *
 * Numbers choose among what exists, newest first, modulo how much there is, so every program makes sense and every
 * part of a program is one: a counterexample shrinks by leaving operations out. Every program starts with a platform
 * user, an athlete, an organizer, two applications and a registration of the athlete with the organizer.
 */
import { Role } from "@startlist/core/User"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

const Choice = Schema.NonNegativeInt

/** Another user. */
export const CreateUser = Schema.TaggedStruct("CreateUser", { role: Role })
/** Another application of the platform user. */
export const CreateApplication = Schema.TaggedStruct("CreateApplication", {})
/** A user says yes to an application: a code. */
export const Consent = Schema.TaggedStruct("Consent", { user: Choice, application: Choice, pkce: Schema.Boolean })
/** What a client sends as `Idempotency-Key`; nothing, if it is empty. */
const Key = Schema.Literal("", "one", "two")
/** An application presents a code; `slip` is what it gets wrong. */
export const Redeem = Schema.TaggedStruct("Redeem", {
  code: Choice,
  key: Key,
  slip: Schema.Literal("none", "client", "verifier", "redirect")
})
/** An application presents a refresh token, current or not; the wrong application, if `stolen`. */
export const Refresh = Schema.TaggedStruct("Refresh", { token: Choice, key: Key, stolen: Schema.Boolean })
/** An application revokes by a token; the wrong application, if `stolen`. */
export const Revoke = Schema.TaggedStruct("Revoke", {
  by: Schema.Literal("access", "refresh"),
  token: Choice,
  stolen: Schema.Boolean
})
/** The user of a code revokes the application's access. */
export const RevokeByUser = Schema.TaggedStruct("RevokeByUser", { code: Choice })
/** An application subscribes; its callback answers the challenge like this. */
export const Subscribe = Schema.TaggedStruct("Subscribe", {
  application: Choice,
  callback: Schema.Literal("right", "wrong", "hanging")
})
export const Unsubscribe = Schema.TaggedStruct("Unsubscribe", { application: Choice })
export const CreateRegistration = Schema.TaggedStruct("CreateRegistration", { athlete: Choice, organizer: Choice })
/** A registration gets a status, perhaps the one that it has. */
export const ChangeStatus = Schema.TaggedStruct("ChangeStatus", { registration: Choice, status: Choice })
/** A delivery is made again. */
export const Redeliver = Schema.TaggedStruct("Redeliver", { delivery: Choice })
/** What an application's receiver does with its next events. */
export const Receive = Schema.TaggedStruct("Receive", {
  application: Choice,
  reactions: Schema.Array(Schema.Literal("comply", "fail", "hang", "retry-after", "slow"))
})
/** A worker delivers for a while, and then stops properly or is killed. */
export const Work = Schema.TaggedStruct("Work", { seconds: Schema.NonNegativeInt, killed: Schema.Boolean })

/** What can run beside something else. */
export const Simple = Schema.Union(
  CreateUser,
  CreateApplication,
  Consent,
  Redeem,
  Refresh,
  Revoke,
  RevokeByUser,
  Subscribe,
  Unsubscribe,
  CreateRegistration,
  ChangeStatus,
  Redeliver,
  Receive,
  Work
)
export type Simple = typeof Simple.Type

/** Time passes. */
export const Wait = Schema.TaggedStruct("Wait", { seconds: Schema.NonNegativeInt })
/** What is no longer needed is forgotten. */
export const Purge = Schema.TaggedStruct("Purge", {})
/** All at once. */
export const Parallel = Schema.TaggedStruct("Parallel", { operations: Schema.Array(Simple) })

export const Operation = Schema.Union(...Simple.members, Wait, Purge, Parallel)
export type Operation = typeof Operation.Type

export const Program = Schema.Array(Operation)
export type Program = typeof Program.Type

const choice = FastCheck.oneof({ weight: 3, arbitrary: FastCheck.constant(0) }, FastCheck.nat(7))
const literal = <const A extends string>(...values: ReadonlyArray<A>): FastCheck.Arbitrary<A> =>
  FastCheck.constantFrom(...values)
const key = literal("", "", "one", "two")
const rarely = FastCheck.oneof({ weight: 6, arbitrary: FastCheck.constant(false) }, FastCheck.constant(true))

const simple = (...extra: ReadonlyArray<FastCheck.WeightedArbitrary<Simple>>): FastCheck.Arbitrary<Simple> =>
  FastCheck.oneof(
    {
      weight: 10,
      arbitrary: FastCheck.record({ user: choice, application: choice, pkce: rarely }).map((_) => Consent.make(_))
    },
    {
      weight: 14,
      arbitrary: FastCheck.record({
        code: choice,
        key,
        slip: FastCheck.oneof(
          { weight: 9, arbitrary: literal("none") },
          literal("client", "verifier", "redirect")
        )
      }).map((_) => Redeem.make(_))
    },
    { weight: 10, arbitrary: FastCheck.record({ token: choice, key, stolen: rarely }).map((_) => Refresh.make(_)) },
    {
      weight: 3,
      arbitrary: FastCheck.record({
        by: literal("access", "refresh"),
        token: choice,
        stolen: rarely
      }).map((_) => Revoke.make(_))
    },
    { weight: 4, arbitrary: choice.map((code) => RevokeByUser.make({ code })) },
    {
      weight: 6,
      arbitrary: FastCheck.record({
        application: choice,
        callback: FastCheck.oneof(
          { weight: 6, arbitrary: literal("right") },
          literal("wrong", "hanging")
        )
      }).map((_) => Subscribe.make(_))
    },
    { weight: 2, arbitrary: choice.map((application) => Unsubscribe.make({ application })) },
    {
      weight: 7,
      arbitrary: FastCheck.record({ registration: choice, status: FastCheck.nat(3) }).map((_) => ChangeStatus.make(_))
    },
    { weight: 1, arbitrary: choice.map((delivery) => Redeliver.make({ delivery })) },
    {
      weight: 2,
      arbitrary: FastCheck.record({
        application: choice,
        reactions: FastCheck.array(literal("fail", "hang", "retry-after", "slow", "comply"), {
          minLength: 1,
          maxLength: 4
        })
      }).map((_) => Receive.make(_))
    },
    ...extra
  )

const creations: ReadonlyArray<FastCheck.WeightedArbitrary<Simple>> = [
  {
    weight: 1,
    arbitrary: literal("athlete", "organizer", "club").map((role) => CreateUser.make({ role }))
  },
  { weight: 1, arbitrary: FastCheck.constant(CreateApplication.make({})) },
  {
    weight: 1,
    arbitrary: FastCheck.record({ athlete: choice, organizer: choice }).map((_) => CreateRegistration.make(_))
  }
]

const work = FastCheck.record({ seconds: FastCheck.constantFrom(1, 5, 30, 100), killed: rarely })
  .map((_) => Work.make(_))

/** Waits that end just before, at and just after every limit. */
const wait = FastCheck.constantFrom(
  1,
  10,
  59,
  60,
  61,
  599,
  600,
  299,
  300,
  301,
  28_799,
  28_800,
  28_801,
  31 * 86_400,
  90 * 86_400 - 1,
  90 * 86_400
).map((seconds) => Wait.make({ seconds }))

/** What can be done to the newest grant, one of each. */
const contest: ReadonlyArray<Simple> = [
  RevokeByUser.make({ code: 0 }),
  Redeem.make({ code: 0, key: "", slip: "none" }),
  Refresh.make({ token: 0, key: "", stolen: false }),
  Refresh.make({ token: 0, key: "one", stolen: false }),
  Refresh.make({ token: 1, key: "one", stolen: false }),
  Revoke.make({ by: "access", token: 0, stolen: false }),
  ChangeStatus.make({ registration: 0, status: 1 })
]

const parallel = (operations: FastCheck.Arbitrary<Simple>): FastCheck.Arbitrary<Operation> =>
  FastCheck.oneof(
    FastCheck.array(operations, { minLength: 1, maxLength: 3 }),
    // The same thing several times at once is what races are made of.
    FastCheck.tuple(operations, FastCheck.integer({ min: 1, max: 3 })).map(([operation, times]) =>
      Array.from({ length: times }, () => operation)
    )
  ).map((operations) => Parallel.make({ operations }))

/** Mostly all of these, but it shrinks to fewer. */
const some = <A>(all: ReadonlyArray<A>, usual: FastCheck.Arbitrary<Array<A>>): FastCheck.Arbitrary<Array<A>> =>
  FastCheck.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: FastCheck.shuffledSubarray([...all], { minLength: 1, maxLength: 1 }) },
    { weight: 5, arbitrary: usual }
  )

/** A living grant, and several who want something of it at once: where races are. */
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

/** Programs of some `length` parts, with parallel groups and workers. */
export const program = (length = 20): FastCheck.Arbitrary<Program> => {
  const anything = simple(...creations, { weight: 4, arbitrary: work })
  const part = FastCheck.oneof<FastCheck.WeightedArbitrary<Operation>[]>(
    { weight: 12, arbitrary: anything },
    { weight: 2, arbitrary: wait },
    { weight: 2, arbitrary: parallel(anything) },
    { weight: 1, arbitrary: FastCheck.constant(Purge.make({})) }
  )
  return FastCheck.array(
    FastCheck.oneof<FastCheck.WeightedArbitrary<Program>[]>(
      { weight: 15, arbitrary: part.map((operation) => [operation]) },
      { weight: 4, arbitrary: race }
    ),
    { maxLength: length, size: "max" }
  ).map((parts) => parts.flat())
}

/** Programs in which one thing happens after the other: the same on every store. */
export const sequential = (maxLength = 20): FastCheck.Arbitrary<Program> =>
  FastCheck.array(
    FastCheck.oneof<FastCheck.WeightedArbitrary<Operation>[]>(
      { weight: 12, arbitrary: simple(...creations, { weight: 4, arbitrary: work }) },
      { weight: 2, arbitrary: wait },
      { weight: 1, arbitrary: FastCheck.constant(Purge.make({})) }
    ),
    { maxLength, size: "max" }
  )
