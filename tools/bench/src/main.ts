/**
 * `npm run bench [-- NAME…] [--quick] [--rounds N] [--seconds S]`: measures scenarios or groups of them (`cpu`), prints
 * the results and writes `docs/evidence/benchmarks.md`. `--dry` only prints. `--pages` writes the pages from the stored
 * results. With `--profile FOLDER`, every measured process writes a CPU profile there. `--before REVISION` is for the scenario `before`, `--minutes N` for `soak`.
 */
import { integer, number, parse, refuse } from "@startlist/test-support/Arguments"
import { resolve } from "node:path"
import * as Cleanup from "./Cleanup.ts"
import * as Machine from "./Machine.ts"
import type { Effort } from "./Measurement.ts"
import * as Process from "./Process.ts"
import * as Report from "./Report.ts"
import type { Scenario } from "./Scenario.ts"
import * as Scenarios from "./Scenarios.ts"

const { positionals, values } = parse({
  allowPositionals: true,
  options: {
    before: { type: "string" },
    dry: { type: "boolean", default: false },
    minutes: { type: "string" },
    pages: { type: "boolean", default: false },
    profile: { type: "string" },
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" }
  }
})

const effort: Effort = {
  isQuick: values.quick,
  before: values.before,
  minutes: values.minutes === undefined ? undefined : number("minutes", values.minutes, 1),
  rounds: integer("rounds", values.rounds ?? (values.quick ? "2" : "5"), 1),
  seconds: number("seconds", values.seconds ?? (values.quick ? "1" : "3"), 0.1),
  warmUpCalls: values.quick ? 10_000 : 30_000,
  warmUpSeconds: values.quick ? 2 : 6
}

/** By its name, or by that of its group: `cpu` is all of `cpu-…`. */
const isMeant = (given: string, { name }: Scenario): boolean => name === given || name.startsWith(`${given}-`)

const run = async (): Promise<void> => {
  const machine = await Machine.describe()
  for (const scenario of Scenarios.all) {
    if (positionals.length > 0 && !positionals.some((given) => isMeant(given, scenario))) continue
    const began = performance.now()
    console.error(`${scenario.name}: ${scenario.title}`)
    const tables = await scenario.run(effort)
    tables.forEach(Report.print)
    console.error(`  (${Math.round((performance.now() - began) / 1000)} s)\n`)
    const spent = scenario.effortOf?.(effort) ?? effort
    if (!values.dry && tables.length > 0) Report.add(Scenarios.all, scenario, spent, machine, tables)
  }
}

const unknown = positionals.find((given) => !Scenarios.all.some((scenario) => isMeant(given, scenario)))
if (unknown !== undefined) {
  refuse(`no scenario is called ${unknown}; there are ${Scenarios.all.map(({ name }) => name).join(", ")}`)
}
Cleanup.onSignals()
Process.becomeLoad()
if (values.profile !== undefined) Process.profileInto(resolve(values.profile))
try {
  await (values.pages ? Report.writePages(Scenarios.all) : run())
} finally {
  await Cleanup.run()
}
