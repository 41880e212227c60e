/** Arbitrary programs over the stores: themes with the frequency of each call, and what happens to a call. */
import * as Arr from "effect/Array"
import * as FastCheck from "effect/FastCheck"
import { again, cancel, claim, enqueue, purge, release, settle } from "./queueCalls.ts"
import type { MakeCall, Part } from "./storeCall.ts"
import {
  insertApplication,
  insertRegistration,
  insertSubscription,
  removeSubscription,
  saveApplication,
  saveGrant,
  saveRegistration,
  saveSigningSecrets,
  saveSubscription
} from "./storeCalls.ts"

/**
 * The first calls of a program: a registration, and two subscribed applications, each with a grant. The second one has had
 * another subscription, with later versions and a claimed delivery.
 */
export const beginningOf = (parts: ReadonlyArray<Part>): ReadonlyArray<MakeCall> => {
  const application: ReadonlyArray<readonly [Part, MakeCall]> = [
    ["applications", insertApplication],
    ["subscriptions", insertSubscription],
    ["grants", saveGrant]
  ]
  const all: ReadonlyArray<readonly [Part, MakeCall]> = [
    ["registrations", insertRegistration],
    ...application,
    ...application,
    ["queue", enqueue],
    ["queue", claim],
    ["subscriptions", saveSubscription],
    ["subscriptions", saveSubscription],
    ["subscriptions", removeSubscription],
    ["subscriptions", insertSubscription]
  ]
  return all.flatMap(([part, makeCall]) => parts.includes(part) ? [makeCall] : [])
}

/** Calls of random programs that belong together: each, and its frequency. */
export interface Theme {
  readonly about: string
  /** The parts of a store that it needs. */
  readonly parts: ReadonlyArray<Part>
  readonly calls: ReadonlyArray<readonly [MakeCall, number]>
  /** Milliseconds after which no new program begins, once some have run. */
  readonly millis: number
}

const applications: Theme["calls"] = [
  [insertApplication, 2],
  [saveApplication, 6],
  [saveSigningSecrets, 3]
]
const subscriptions: Theme["calls"] = [
  [insertSubscription, 4],
  [saveSubscription, 4],
  [removeSubscription, 4]
]
const grants: Theme["calls"] = [[saveGrant, 8]]
const registrations: Theme["calls"] = [
  [insertRegistration, 1],
  [saveRegistration, 6]
]
const queue: Theme["calls"] = [
  [enqueue, 9],
  [claim, 12],
  [settle, 9],
  [release, 4],
  [cancel, 3],
  [again, 4],
  [purge, 3]
]

const all: ReadonlyArray<Part> = [
  "applications",
  "subscriptions",
  "outbox",
  "grants",
  "registrations",
  "queue"
]

/** In the order in which one can write a store. */
export const themes: ReadonlyArray<Theme> = [
  { about: "applications", parts: all.slice(0, 1), calls: applications, millis: 300 },
  { about: "subscriptions", parts: all.slice(0, 2), calls: [...subscriptions, [saveApplication, 1]], millis: 300 },
  {
    about: "grants",
    parts: all.slice(0, 4),
    calls: [...grants, [saveApplication, 4], [removeSubscription, 1]],
    millis: 800
  },
  { about: "registrations", parts: all.slice(0, 5), calls: [...registrations, [saveGrant, 1]], millis: 400 },
  { about: "the queue", parts: all, calls: [...queue, ...subscriptions], millis: 1400 },
  {
    about: "everything",
    parts: all,
    calls: [...applications, ...subscriptions, ...grants, ...registrations, ...queue],
    millis: 1100
  }
]

/** A call, the handle that makes it, and the seed of its choices. */
const choices = FastCheck.record({
  call: FastCheck.nat(999),
  handle: FastCheck.nat(1),
  seed: FastCheck.oneof(
    { withCrossShrink: true },
    { arbitrary: FastCheck.constant(0), weight: 1 },
    { arbitrary: FastCheck.noShrink(FastCheck.integer({ min: 1, max: 2 ** 31 })), weight: 30 }
  )
})

/** A call, what happens to it, and those that run at the same time. */
const step = FastCheck.record({
  one: choices,
  how: FastCheck.constantFrom(
    "alone",
    ...Array.from({ length: 2 }, () => "repeated" as const),
    ...Array.from({ length: 2 }, () => "interrupted" as const),
    ...Array.from({ length: 3 }, () => "with others" as const),
    ...Array.from({ length: 3 }, () => "seen" as const)
  ),
  /** Whether it is a find, if it is not interrupted or seen. */
  isFind: FastCheck.constantFrom(false, false, false, true),
  others: FastCheck.array(choices, { minLength: 1, maxLength: 3 }),
  /** Whether the others are the same call, make the same choices, or neither. */
  are: FastCheck.constantFrom("different", "similar", "equal"),
  at: FastCheck.nat(999),
  waits: FastCheck.constantFrom(0, 0, 0, 0, 0, 1, 5, 15, 0.001, 0.5, 14.9, 100)
})

export type Step = typeof step extends FastCheck.Arbitrary<infer A> ? A : never

/** An error shows the calls of a program, but not the numbers that choose them. */
export const program = FastCheck.record({
  steps: FastCheck.array(step, { maxLength: 40, size: "max" }),
  /** Each bit leaves out a kind of call. Those that are left come more often in a row. */
  without: FastCheck.oneof(
    { withCrossShrink: true },
    FastCheck.constant(0),
    FastCheck.nat(2 ** 16)
  ),
  /** Long before the times of other laws, or long after them. */
  start: FastCheck.constantFrom("1980-01-01T00:00:00.123Z", "2090-01-01T00:00:00.123Z")
}).map((program) => ({ ...program, [FastCheck.toStringMethod]: () => `${program.steps.length} steps` }))

export type Program = typeof program extends FastCheck.Arbitrary<infer A> ? A : never

/** The calls of a theme without some kinds of them, each as often as its frequency. */
export const callsOf = ({ calls }: Theme, { without }: Program): ReadonlyArray<MakeCall> => {
  const some = calls.filter((_, bit) => (without >> bit) % 2 === 0)
  return (some.length === 0 ? calls : some).flatMap(([make, frequency]) => Arr.makeBy(frequency, () => make))
}
