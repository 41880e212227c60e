/** Arbitrary programs over the stores: calls, and what happens to each. */
import * as Arr from "effect/Array"
import * as FastCheck from "effect/FastCheck"
import type { MakeCall } from "./storeCall.ts"
import type { Theme } from "./storeThemes.ts"

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
