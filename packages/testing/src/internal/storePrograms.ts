/**
 * Random programs over the stores, by two handles or by one. A call runs alone, is interrupted at a step, or is stopped at
 * a step while another one runs. Each answer, and everything in the end, must be as in the model: in some order of the
 * calls, with those that were interrupted done completely or not at all.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { intercept } from "../Faults.ts"
import { Effort, forAll, law, type LawGroup } from "../Suite.ts"
import { plain, tagOfError, Unexpected } from "./expecting.ts"
import { type Fixture, make } from "./fixture.ts"
import type { Stops } from "./rounds.ts"
import type { Handles, WithHandles } from "./stage.ts"
import type { MakeCall } from "./storeCall.ts"
import { callsOf, program, themes } from "./storeProgram.ts"
import { clearQueue } from "./storeLaw.ts"
import { type Plan, runProgram } from "./storeSteps.ts"

const show = (value: unknown): string => {
  const text = JSON.stringify(plain(value)) ?? "nothing"
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** The fixture of a handle whose calls are logged. */
const logged = ({ services }: Fixture, name: string, log: Array<() => string>) =>
  Effect.provide(
    make,
    intercept(services, (operation, effect, input) =>
      Effect.onExit(effect, (exit) =>
        Effect.sync(() =>
          log.push(() => {
            const answer = Exit.match(exit, {
              onSuccess: show,
              onFailure: (cause) =>
                Option.match(Cause.failureOption(cause), { onNone: () => Cause.pretty(cause), onSome: tagOfError })
            })
            return `${name}: ${operation} ${show(input)}: ${answer}`
          })
        )))
  )

/** An instant after those of all programs. */
const never = DateTime.unsafeMake("2199-01-01T00:00:00.000Z")

const run = (
  plan: Plan,
  [one, other]: Handles,
  stops: Map<MakeCall, Stops<number>>,
  isOver: Effect.Effect<boolean>
): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const log: Array<() => string> = []
    const handles: Handles = [yield* logged(one, "one handle", log), yield* logged(other, "another", log)]
    // What an earlier program has left.
    if (plan.parts.includes("queue")) yield* Effect.provide(clearQueue, one.services)
    if (plan.parts.includes("outbox")) {
      yield* Effect.repeat(one.deliveries.purge(never, 1000), { until: (count) => count === 0 })
    }
    log.length = 0
    yield* Effect.catchAllCause(
      runProgram(plan, handles, stops, log, isOver),
      (cause) => Effect.die(new Unexpected([...log.map((line) => line()), String(Cause.squash(cause))].join("\n")))
    )
  })

/** Number of programs that a slow store runs. */
const fewest = 8

/** Milliseconds for which a counterexample is shrunk. */
const shrinking = 10_000

/** The laws of random programs, over two handles or one. */
export const storePrograms = <R>(withHandles: WithHandles<R>): LawGroup<R> => ({
  about: "random programs",
  laws: themes.map((theme) =>
    law(
      `calls of ${theme.about}: each answers as in some order of all, and is done completely or not at all`,
      () =>
        withHandles((handles) =>
          Effect.gen(function*() {
            const stops = new Map<MakeCall, Stops<number>>()
            const effort = yield* Effort
            const millis = effort.factor * theme.millis
            let ends = (yield* Clock.currentTimeMillis) + millis
            let begun = 0
            const isOver = Effect.map(Clock.currentTimeMillis, (now) => now > ends && begun > effort.factor * fewest)
            yield* forAll(program, (program) =>
              Effect.gen(function*() {
                begun += 1
                if (yield* isOver) return
                effort.programs += 1
                const lengthen = Effect.map(Clock.currentTimeMillis, (now) => {
                  ends = now + shrinking
                })
                const plan = { ...program, parts: theme.parts, calls: callsOf(theme, program) }
                yield* Effect.tapErrorCause(run(plan, handles, stops, isOver), () => lengthen)
              }), { numRuns: Math.ceil(millis / 10), interruptAfterTimeLimit: 10 * millis + shrinking })
          })
        )
    )
  )
})
