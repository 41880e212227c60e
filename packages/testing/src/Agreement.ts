/** Two kinds of stores agree if the same program, at the same time with the same secrets, gives the same trace. */
import * as Memory from "@startlist/core/Memory"
import type * as Stores from "@startlist/core/Stores"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Operation from "./Operation.ts"
import * as Program from "./Program.ts"

/** The first difference of two traces. */
export class Disagreement extends Data.TaggedError("Disagreement")<{
  readonly before: ReadonlyArray<string>
  readonly inMemory: string
  readonly here: string
}> {
  override get message(): string {
    return [...this.before, `in memory: ${this.inMemory}`, `here:      ${this.here}`].join("\n")
  }
}

/** No jitter: which of two deliveries draws first depends on the store. */
const policy = { ...Program.policy, deliveryJitter: 0 }

/** Runs a program on these stores and on those in memory. Takes programs of `Operation.sequential`. */
export const check = (
  program: Operation.Program,
  options: Program.Options
): Effect.Effect<void, Disagreement | Program.LawBroken, Stores.Stores> =>
  Effect.gen(function*() {
    const label = options.label ?? (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
    const inMemory = yield* Effect.provide(
      Program.trace(program, { ...options, label, policy, isExternal: false }),
      Memory.layer
    )
    const here = yield* Program.trace(program, { ...options, label, policy })
    for (let index = 0; index < Math.max(inMemory.length, here.length); index++) {
      const [one, other] = [inMemory[index] ?? "nothing more", here[index] ?? "nothing more"]
      if (one !== other) {
        return yield* new Disagreement({ before: inMemory.slice(0, index), inMemory: one, here: other })
      }
    }
  })
