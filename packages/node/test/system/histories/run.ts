/**
 * `npm run histories -- [--nodes 2] [--minutes 5] [--seed N] [--planted N]`: checks the histories of grants on real nodes
 * and one real PostgreSQL while faults happen. `--planted`: number of nodes that save without comparing versions.
 */
import { integer, number, parse } from "@startlist/test-support/Arguments"
import { Effect } from "effect"
import { explain, run, summary } from "./Histories.ts"

const { values } = parse({
  options: {
    nodes: { type: "string", default: "2" },
    minutes: { type: "string", default: "5" },
    seed: { type: "string" },
    planted: { type: "string", default: "0" }
  }
})
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000_000 : integer("seed", values.seed)
console.log(`seed ${seed}`)

let next = 10
const report = await Effect.runPromise(run({
  nodes: integer("nodes", values.nodes, 1),
  minutes: number("minutes", values.minutes),
  seed,
  planted: integer("planted", values.planted),
  onProgress: (report) => {
    if (report.seconds < next) return
    next = report.seconds + 10
    console.log(summary(report))
  }
}))

console.log(summary(report))
if (report.counterexample !== undefined) console.log(explain(report.counterexample))
process.exit(report.counterexample === undefined && report.undecided === 0 && report.explained > 0 ? 0 : 1)
