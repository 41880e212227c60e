/** Refresh and bearer check at the stores on PostgreSQL, with many callers and with a single one. */
import * as Contender from "../Contender.ts"
import * as Grants from "../Grants.ts"
import type { Effort } from "../Measurement.ts"
import * as Pgbench from "../Pgbench.ts"
import { connections } from "../Protocol.ts"
import { compare, type Scenario } from "../Scenario.ts"

const prepare = Grants.fill(Grants.usual)

/** `pgbench` with the same number of callers. */
const pgbench = (name: string, script: keyof typeof Grants.scripts) =>
  Pgbench.contender({
    name,
    callers: connections,
    script: Grants.scripts[script],
    variables: Grants.variables,
    prepare
  })

const stores = (what: string, callers: number) =>
  Contender.work({
    name: "Startlist",
    role: "ours",
    program: "Stores",
    args: [what, String(callers), String(Grants.usual)],
    prepare
  })

const plain = (what: string) =>
  Contender.work({ name: "the same statement through pg", role: "limit", program: "Plain", args: [what], prepare })

export const atStores: Scenario = {
  name: "stores",
  title: "The stores on PostgreSQL, without HTTP",
  about: `
${connections} callers in one process save rotations, or find grants with their access tokens, among ${
    Grants.usual.toLocaleString("en")
  } grants. The
stores join what is asked for at the same time into one statement; pgbench runs the single-row form of the same statement,
prepared, with as many clients.
`,
  run: async (effort) => [
    await compare({
      title: "Saving a rotation",
      contenders: [stores("rotation", connections), ...pgbench("the same statement", "rotation")],
      goals: [{ than: "pgbench: the same statement", atLeast: 2.5 }]
    }, effort),
    await compare({
      title: "Finding an access token",
      contenders: [stores("bearer", connections), ...pgbench("the same statement", "bearer")],
      goals: [{ than: "pgbench: the same statement", atLeast: 1.2 }]
    }, effort)
  ]
}

const alonely = (effort: Effort): Effort => ({ ...effort, warmUpCalls: 5000 })

export const alone: Scenario = {
  name: "alone",
  title: "One caller alone, on PostgreSQL",
  about: `
The cost of batching for a lone caller: one caller of the stores, beside the single-row form of the same statement, prepared,
through \`pg\`.
`,
  run: async (effort) => [
    await compare({
      title: "Saving a rotation, alone",
      contenders: [stores("rotation", 1), plain("rotation")],
      goals: [{ than: "the same statement through pg", by: "latency", atMost: 1.3 }]
    }, alonely(effort)),
    await compare({
      title: "Finding an access token, alone",
      contenders: [stores("bearer", 1), plain("bearer")],
      goals: [{ than: "the same statement through pg", by: "latency", atMost: 1.3 }]
    }, alonely(effort))
  ]
}
