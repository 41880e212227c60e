/**
 * Runs the simulation for as many seeds as one likes: `npm run simulate -- --seeds 10000`.
 *
 * Prints how far it is, and at the end what happened how often. The first seed that breaks a law ends it with status 1
 * and its shortened story. `--seed 17` tells one seed in full.
 */
import { Effect, Exit } from "effect"
import { parseArgs } from "node:util"
import * as Simulation from "../src/Simulation.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "300" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    hours: { type: "string", default: "0.2" },
    pace: { type: "string", default: "600" },
    nodes: { type: "string", default: "3" },
    faults: { type: "string", default: "1" }
  }
})

const number = (name: keyof typeof values): number => {
  const value = Number(values[name])
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`--${name} must be a number`)
  return value
}

const options = { hours: number("hours"), pace: number("pace"), nodes: number("nodes"), faults: number("faults") }

const one = (seed: number) =>
  Effect.gen(function*() {
    const outcome = yield* Simulation.run({ ...options, seed })
    console.log(Simulation.tell(outcome, Infinity))
    if (outcome.violation === undefined) return true
    console.log(`\nshortened:\n\n${Simulation.tell(yield* Simulation.shorten({ ...options, seed }, outcome))}`)
    return false
  })

const many = (seeds: number, from: number) =>
  Effect.gen(function*() {
    const began = performance.now()
    let done = 0
    let told = 0
    const onOutcome = () => {
      done++
      const elapsed = (performance.now() - began) / 1000
      if (elapsed - told < 2 && done < seeds) return
      told = elapsed
      console.log(`${done} of ${seeds} seeds, ${Math.round(elapsed)} s, all laws hold`)
    }
    const checked = yield* Effect.either(Simulation.check({ ...options, seeds, from, onOutcome }))
    if (checked._tag === "Left") {
      const { outcome, story } = checked.left
      const settings = Object.entries(options).map(([name, value]) => `--${name} ${value}`).join(" ")
      console.log(`${story}\n\nagain, and in full: npm run simulate -- --seed ${outcome.seed} ${settings}`)
      return false
    }
    for (const [what, times] of checked.right) console.log(`${String(times).padStart(9)} ${what}`)
    return true
  })

const exit = await Effect.runPromiseExit(
  values.seed === undefined ? many(number("seeds"), number("from")) : one(number("seed"))
)
if (Exit.isFailure(exit)) console.error(exit.cause.toString())
process.exitCode = Exit.isSuccess(exit) && exit.value ? 0 : 1
