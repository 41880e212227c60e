/** Refresh and bearer check on PostgreSQL: through HTTP, at the stores, and with a single caller. */
import * as Contender from "../Contender.ts"
import * as Grants from "../Grants.ts"
import type { Effort } from "../Measurement.ts"
import * as Pgbench from "../Pgbench.ts"
import { asking, connections, refreshing } from "../Protocol.ts"
import * as Runtime from "../Runtime.ts"
import { compare, fastestPeer, type Scenario } from "../Scenario.ts"

const storage = "database"
const servers = [
  { name: "Startlist", role: "ours", program: "Startlist", args: ["postgres"], storage },
  { name: "@node-oauth, bare", role: "peer", program: "NodeOauth", args: ["bare"], storage },
  { name: "oidc-provider", role: "peer", program: "OidcProvider", args: [], storage }
] as const

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

const sameStatements = "the same statements, one after another"

export const refresh: Scenario = {
  name: "refresh-postgres",
  title: "Refreshing a token, on PostgreSQL",
  about: `
\`POST /oauth/token\` as above, ${connections} connections, one core for the server, every commit durable before it is answered.
The peers have a plain adapter through \`pg\` with prepared statements and as many connections as ours has (10); clients of
oidc-provider are in its memory. pgbench runs, with ${connections} clients and without HTTP, the statements of a refresh in
their single-row form: application, grant, rotation; and the rotation alone.
`,
  run: async (effort) => [
    await compare({
      title: "POST /oauth/token",
      contenders: [
        ...Runtime.place(servers).map((options) => Contender.server(options, refreshing)),
        ...pgbench(sameStatements, "refresh"),
        ...pgbench("the rotation alone", "rotation")
      ],
      goals: Runtime.goals(servers, [
        { than: "oidc-provider", atLeast: 7 },
        { than: "@node-oauth, bare", atLeast: 4 },
        { than: `pgbench: ${sameStatements}`, atLeast: 2 }
      ])
    }, effort)
  ]
}

export const bearer: Scenario = {
  name: "bearer-postgres",
  title: "Checking a bearer, on PostgreSQL",
  about: `
\`GET /api/v1/athlete\` as above, ${connections} connections: the grant with its tokens and the athlete are read for every
request, so that a revocation on any node takes effect immediately. pgbench reads the same two rows.
`,
  run: async (effort) => [
    await compare({
      title: "GET /api/v1/athlete",
      contenders: [
        ...Runtime.place(servers).map((options) => Contender.server(options, asking)),
        ...pgbench(sameStatements, "bearerAndUser")
      ],
      goals: Runtime.goals(servers, [{ than: fastestPeer, atLeast: 2.4 }])
    }, effort)
  ]
}

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
