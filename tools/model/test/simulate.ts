/**
 * Runs the simulation for as many seeds as one likes: `npm run simulate -- --seeds 10000`.
 *
 * `--scenario stale` is about honest applications whose workers have old tokens. `--replay revoke` sets the policy.
 *
 * Prints its progress, and at the end the counts of all seeds. The first seed that breaks a law ends it with status 1 and a
 * counterexample. `--seed 17` prints one seed in full.
 */
import { integer, number, oneOf, parse } from "@startlist/test-support/Arguments"
import { Effect, Exit } from "effect"
import * as Simulation from "../src/Simulation.ts"

const { values } = parse({
  options: {
    seeds: { type: "string", default: "300" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    hours: { type: "string" },
    pace: { type: "string", default: "600" },
    nodes: { type: "string", default: "3" },
    faults: { type: "string", default: "1" },
    retries: { type: "string", default: "on" },
    scenario: { type: "string", default: "everything" },
    replay: { type: "string", default: "refuse" }
  }
})

const seed = values.seed === undefined ? undefined : integer("seed", values.seed)
const seeds = integer("seeds", values.seeds, 1)
const from = integer("from", values.from)
const scenario = oneOf("scenario", values.scenario, "everything", "stale")
const options = {
  hours: 0.2,
  ...scenario === "stale" ? Simulation.stale : {},
  ...values.hours === undefined ? {} : { hours: number("hours", values.hours) },
  pace: number("pace", values.pace),
  nodes: integer("nodes", values.nodes, 1),
  faults: number("faults", values.faults),
  retries: values.retries !== "off",
  replay: oneOf("replay", values.replay, "refuse", "revoke")
}

const one = (seed: number) =>
  Effect.gen(function*() {
    const outcome = yield* Simulation.run({ ...options, seed })
    console.log(Simulation.report(outcome, Infinity))
    if (outcome.violation === undefined) return true
    console.log(`\nshrunk:\n\n${Simulation.report(yield* Simulation.shrink({ ...options, seed }, outcome))}`)
    return false
  })

const many = Effect.gen(function*() {
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
    const { outcome, counterexample } = checked.left
    const { from: _from, seed: _seed, seeds: _seeds, ...settings } = values
    const again = Object.entries(settings).map(([name, value]) => `--${name} ${value}`).join(" ")
    console.log(`${counterexample}\n\nagain, and in full: npm run simulate -- --seed ${outcome.seed} ${again}`)
    return false
  }
  for (const [what, times] of checked.right) console.log(`${String(times).padStart(9)} ${what}`)
  return true
})

const exit = await Effect.runPromiseExit(seed === undefined ? many : one(seed))
if (Exit.isFailure(exit)) console.error(exit.cause.toString())
process.exitCode = Exit.isSuccess(exit) && exit.value ? 0 : 1
