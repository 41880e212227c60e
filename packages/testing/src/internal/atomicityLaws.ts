/** Laws of the operations that write several things: all is written or nothing, however they end and whoever looks. */
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { make } from "./fixture.ts"
import { interrupted, inTheMiddle, rounds, stepsOf, sweep, whileLooking } from "./rounds.ts"
import { stopAt } from "./stepping.ts"
import { type Prepare, type Trial, trials } from "./trials.ts"

const isWhole = (seen: ReadonlyArray<boolean>): boolean => new Set(seen).size === 1

/** What is there at last: a statement that was under way when its caller went away may still come to its end. */
const seenAtLast = (trial: Trial, looks = 20): Effect.Effect<ReadonlyArray<boolean>, StoreError> =>
  Effect.flatMap(Effect.all(trial.parts), (seen) =>
    isWhole(seen) || looks === 1
      ? Effect.succeed(seen)
      : Effect.delay(Effect.suspend(() => seenAtLast(trial, looks - 1)), "50 millis"))

const done = "what is there of each part when it is done"

const laws = (name: string, prepare: Prepare) => [
  law(`${name} that is interrupted at any moment is done completely or not at all`, () =>
    Effect.gen(function*() {
      const f = yield* make
      const mustBeWhole = (trial: Trial) =>
        Effect.gen(function*() {
          const seen = yield* seenAtLast(trial)
          same(seen, seen.map(() => isWhole(seen) && seen[0]), "what is there of each part after an interruption")
          yield* f.cleanUp
        })
      const first = yield* prepare(f)
      const began = yield* Clock.currentTimeMillis
      const steps = yield* stepsOf(first.operation)
      const millis = (yield* Clock.currentTimeMillis) - began
      same(yield* Effect.all(first.parts), first.parts.map(() => true), done)
      yield* sweep(steps, (step) =>
        Effect.gen(function*() {
          const trial = yield* prepare(f)
          const { interrupt } = yield* stopAt(trial.operation, step)
          yield* interrupt
          yield* mustBeWhole(trial)
        }))
      yield* rounds(Effect.gen(function*() {
        const trial = yield* prepare(f)
        yield* interrupted(trial.operation, millis)
        yield* mustBeWhole(trial)
      }))
    })),
  law(`who sees a part of ${name} sees all of it from then on`, () =>
    Effect.gen(function*() {
      const f = yield* make
      const mustBeWhole = ({ parts }: Trial, what: string) =>
        Effect.map(Effect.all(parts), (seen) => same(seen, parts.map(() => true), what))
      const steps = yield* stepsOf((yield* prepare(f)).operation)
      yield* sweep(steps, (step) =>
        Effect.gen(function*() {
          const trial = yield* prepare(f)
          const looking = Effect.flatMap(Effect.all(trial.parts), (seen) =>
            seen.includes(true)
              ? mustBeWhole(trial, `what is there of each part when one is, at step ${step}`)
              : Effect.void)
          yield* inTheMiddle(trial.operation, step, looking)
          yield* mustBeWhole(trial, done)
          yield* f.cleanUp
        }))
      yield* rounds(Effect.gen(function*() {
        const trial = yield* prepare(f)
        const looks = trial.parts.map((part) =>
          Effect.gen(function*() {
            if (yield* part) yield* mustBeWhole(trial, "what is there of each part, when one is there")
          })
        )
        yield* whileLooking(trial.operation, looks)
        yield* mustBeWhole(trial, done)
        yield* f.cleanUp
      }))
    }))
]

export const atomicityLaws: LawGroup<Stores> = {
  about: "all or nothing",
  laws: Object.entries(trials).flatMap(([name, prepare]) => laws(name, prepare))
}
