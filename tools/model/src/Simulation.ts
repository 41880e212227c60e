/**
 * Simulates the whole system in one process under virtual time, from one seed. Several nodes with different clocks
 * share one store. Networks fail, delay and repeat. Receivers hang, fail and give wrong answers. Nodes die between any
 * two steps and restart. After every write, request and answer, a checker checks each law.
 *
 * ```ts
 * const outcome = yield* Simulation.run({ seed: 17, hours: 24, stores: MyStores.layer })
 * if (outcome.violation) console.log(Simulation.report(yield* Simulation.shrink({ seed: 17, stores }, outcome)))
 * ```
 *
 * The same options give the same outcome. Clocks differ by less than `Policy.callbackTimeout`. "After DELETE no new
 * attempt starts" counts from the claim of an attempt. Both are limits of what the worker promises.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { inVirtualTime, type Options, type Outcome, policy, sizeOf } from "./simulation/perform.ts"
import * as Plan from "./simulation/plan.ts"
import * as StalePlan from "./simulation/stalePlan.ts"

export type { Entry, Violation } from "./simulation/History.ts"
export type { Options, Outcome } from "./simulation/perform.ts"
export type { Step } from "./simulation/plan.ts"

/** Options for honest applications with old tokens, lost answers and several connections (law 1c). Nothing is delivered. */
export const stale = {
  scenario: "stale",
  applications: 1,
  users: 2,
  registrations: 0,
  hours: 0.5,
  policy: { ...policy, deliveryPoll: Duration.hours(1) }
} as const

/** Runs one seed. */
export const run = (options: Options): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const size = sizeOf(options)
    return inVirtualTime(options, size.scenario === "stale" ? StalePlan.make(size) : Plan.make(size))
  })

/** Runs exactly these steps, for example those of a counterexample. */
export const replay = (options: Options, steps: ReadonlyArray<Plan.Step>): Effect.Effect<Outcome> =>
  inVirtualTime(options, steps)

/** Maximum number of runs of `shrink`. */
const shrinkRuns = 400

/**
 * Leaves out steps and network faults while the same law is broken. Returns the shortest run that was found. Its
 * `steps` can be replayed with the same options.
 */
export const shrink = (options: Options, outcome: Outcome): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const { violation } = outcome
    if (violation === undefined) return outcome
    let best = outcome
    let runs = 0
    const attempt = (steps: ReadonlyArray<Plan.Step>) =>
      Effect.gen(function*() {
        if (++runs > shrinkRuns) return false
        const shorter = yield* replay(options, steps)
        if (shorter.violation?.law !== violation.law) return false
        best = { ...shorter, steps: steps.filter(({ at }) => at <= (shorter.violation?.at ?? Infinity)) }
        return true
      })
    yield* attempt(outcome.steps.filter(({ at }) => at <= violation.at))
    for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = best.steps.length - size; from > -size; from -= size) {
        const start = Math.max(0, from)
        yield* attempt([...best.steps.slice(0, start), ...best.steps.slice(start + size)])
      }
    }
    // One by one, until none can be left out.
    for (let before = -1; before !== best.steps.length && runs <= shrinkRuns;) {
      before = best.steps.length
      for (let index = before - 1; index >= 0; index--) yield* attempt(best.steps.filter((_, other) => other !== index))
    }
    for (let index = 0; index < best.steps.length; index++) {
      if (best.steps[index]?.network === "none") continue
      yield* attempt(best.steps.map((step, other) => other === index ? { ...step, network: "none" as const } : step))
    }
    return best
  })

const clockTime = (at: number): string => {
  const two = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0")
  return `${two(at / 3_600_000)}:${two(at / 60_000 % 60)}:${two(at / 1000 % 60)}.${two(at % 1000, 3)}`
}

/** The counterexample of a run in words: the broken law, the steps, and the last `atMost` entries of the history. */
export const report = ({ history, seed, steps, violation }: Outcome, atMost = 60): string => {
  const seen = history.slice(-atMost).map(({ at, text }) => `  ${clockTime(at)}  ${text}`)
  if (violation === undefined) return [...seen, `seed ${seed}: all laws hold (${steps.length} steps)`].join("\n")
  return [
    `seed ${seed}: law ${violation.law} does not hold`,
    `  ${violation.message}`,
    "",
    `operations (${steps.length}):`,
    ...steps.map((step) => `  ${clockTime(step.at)}  ${Plan.describe(step)}`),
    "",
    "history:",
    ...seen,
    `  ${clockTime(violation.at)}  ${violation.message}`
  ].join("\n")
}

/** A law did not hold; `counterexample` is its report. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly outcome: Outcome
  readonly counterexample: string
}> {
  override get message(): string {
    return this.counterexample
  }
}

export interface Seeds extends Omit<Options, "seed"> {
  /** Number of seeds. */
  readonly seeds: number
  /** The first seed. Default: 1. */
  readonly from?: number
  /** Called after each run. */
  readonly onOutcome?: (outcome: Outcome) => void
}

/** Runs many seeds. Fails with the shrunk counterexample of the first that breaks a law. Returns the total counts. */
export const check = (options: Seeds): Effect.Effect<ReadonlyMap<string, number>, Broken> =>
  Effect.gen(function*() {
    const counts = new Map<string, number>()
    const from = options.from ?? 1
    for (let seed = from; seed < from + options.seeds; seed++) {
      const outcome = yield* run({ ...options, seed })
      if (outcome.violation !== undefined) {
        const shortest = yield* shrink({ ...options, seed }, outcome)
        return yield* new Broken({ outcome: shortest, counterexample: report(shortest) })
      }
      for (const [what, times] of outcome.counts) counts.set(what, (counts.get(what) ?? 0) + times)
      options.onOutcome?.(outcome)
    }
    return counts
  })
