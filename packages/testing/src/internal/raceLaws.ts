/** Laws of operations that meet in one record: in every order, what comes of them could have come one after the other. */
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import { law, type LawGroup } from "../Law.ts"
import { type Fixture, make } from "./fixture.ts"
import { races } from "./races.ts"
import { atOnce, rounds, stepsOf, stoppedAt, sweep } from "./rounds.ts"

/** Opens two handles, which may be the same one, for as long as they are used. */
type WithHandles<R> = (
  use: (handles: readonly [Fixture, Fixture]) => Effect.Effect<void, unknown>
) => Effect.Effect<void, unknown, R>

export const raceLawsOf = <R>(about: string, withHandles: WithHandles<R>): LawGroup<R> => ({
  about,
  laws: Object.entries(races).map(([name, prepare]) =>
    law(`${name} come out as if one were after the other`, () =>
      withHandles(([f, g]) =>
        Effect.gen(function*() {
          // Each contender in turn is stopped, at each of its steps.
          const first = yield* prepare(f, g)
          const steps = yield* Effect.forEach(first.contenders, stepsOf)
          yield* f.cleanUp
          yield* sweep(Math.max(...steps) * steps.length, (place) =>
            Effect.gen(function*() {
              const { check, contenders } = yield* prepare(f, g)
              const turn = place % contenders.length
              const turned = [...contenders.slice(turn), ...contenders.slice(0, turn)]
              const outcomes = yield* stoppedAt(Math.floor(place / contenders.length), turned)
              yield* check([...outcomes.slice(outcomes.length - turn), ...outcomes.slice(0, outcomes.length - turn)])
              yield* f.cleanUp
            }))
          yield* rounds(Effect.gen(function*() {
            const { check, contenders } = yield* prepare(f, g)
            yield* check(yield* atOnce(contenders))
            yield* f.cleanUp
          }))
        })
      ))
  )
})

export const raceLaws: LawGroup<Stores> = raceLawsOf("at once", (use) => Effect.flatMap(make, (f) => use([f, f])))
