/** Complete HTTP requests: the refresh of a token, and a resource with a bearer token. CPU time first, then rates. */
import * as Contender from "../Contender.ts"
import * as Grants from "../Grants.ts"
import type { Measurement } from "../Measurement.ts"
import * as Pgbench from "../Pgbench.ts"
import * as Process from "../Process.ts"
import { asking, connections, refreshing } from "../Protocol.ts"
import * as Runtime from "../Runtime.ts"
import { compare, fastestPeer, type Goal, type Scenario } from "../Scenario.ts"

/**
 * Number of access tokens of a grant that is refreshed every four hours. The few grants of a measurement would otherwise have
 * as many as a grant can have.
 */
export const usualTokens = { ACCESS_TOKENS: "3" }

const ours = { name: "Startlist", role: "ours", program: "Startlist", args: ["memory"], env: usualTokens } as const

const inMemory = [
  ours,
  { name: "raw node:http", role: "limit", program: "Raw", args: [] },
  { name: "the same in a fiber for each request", role: "limit", program: "Raw", args: ["fiber"] },
  { name: "@node-oauth, bare", role: "peer", program: "NodeOauth", args: ["bare"] },
  { name: "@node-oauth, Express", role: "peer", program: "NodeOauth", args: ["express"] },
  { name: "@jmondi", role: "peer", program: "Jmondi", args: [] },
  { name: "oidc-provider", role: "peer", program: "OidcProvider", args: [] }
] as const

const storage = "database"
const nodeOauth = "@node-oauth, bare"
const onPostgres = [
  { ...ours, args: ["postgres"], storage },
  { name: nodeOauth, role: "peer", program: "NodeOauth", args: ["bare"], storage },
  { name: "oidc-provider", role: "peer", program: "OidcProvider", args: [], storage }
] as const

/** Grants in use all the time have the most tokens that a grant can have. They have no goals. */
const withTwenty = <Server extends typeof ours | (typeof onPostgres)[0]>(server: Server) => ({
  ...server,
  name: "Startlist, twenty live tokens",
  env: { ACCESS_TOKENS: "20" }
})

/** `pgbench` with the same number of callers. */
const pgbench = (name: string, script: keyof typeof Grants.scripts) =>
  Pgbench.contender({
    name,
    callers: connections,
    script: Grants.scripts[script],
    variables: Grants.variables,
    prepare: Grants.fill(Grants.usual)
  })

const place = (servers: ReadonlyArray<Contender.Server>, conversations: typeof refreshing) =>
  Runtime.place(servers).map((options) => Contender.server(options, conversations))

/** A scenario with one table. */
const requests = (
  { about, goals, limits = [], name, servers, title, what }: Pick<Scenario, "about" | "name" | "title"> & {
    readonly servers: ReadonlyArray<Contender.Server>
    /** Contenders that are no servers. */
    readonly limits?: ReadonlyArray<Contender.Contender>
    readonly goals: ReadonlyArray<Goal>
    readonly what: "POST /oauth/token" | "GET /api/v1/athlete"
  }
): Scenario => ({
  name,
  title,
  about,
  run: async (effort) => [
    await compare({
      title: what,
      contenders: [...place(servers, what === "POST /oauth/token" ? refreshing : asking), ...limits],
      goals: Runtime.goals(servers.filter(({ name }) => !name.includes("twenty")), goals)
    }, effort)
  ]
})

export const refresh: Scenario = requests({
  name: "cpu-refresh",
  title: "Refreshing a token, in memory",
  about: `
\`POST /oauth/token\` with a form, ${connections} connections, one core: client secret checked, refresh token replaced by a new
one, a new access token. Grants have three live access tokens; one more row has twenty. The limit parses the same form and
answers the same JSON; the second limit does so behind our binding, in a fiber of its own for each request. Ours recognises a
replaced token, to revoke the grant at a replay; the peers forget them, except oidc-provider.
`,
  what: "POST /oauth/token",
  servers: [...inMemory, withTwenty(ours)],
  goals: [{ than: fastestPeer, by: "cpu", atMost: 0.8 }]
})

export const bearer: Scenario = requests({
  name: "cpu-bearer",
  title: "Checking a bearer, in memory",
  about: `
\`GET /api/v1/athlete\`, ${connections} connections, one core: access token, its time and its scope checked, the athlete shown.
The limit looks an answer up by the token. The access tokens of @jmondi are signed (HS256) and also looked up, because a
revocation takes effect immediately.
`,
  what: "GET /api/v1/athlete",
  servers: inMemory,
  goals: [{ than: fastestPeer, by: "cpu", atMost: 1 }]
})

export const refreshOnPostgres: Scenario = requests({
  name: "cpu-refresh-postgres",
  title: "Refreshing a token, on PostgreSQL",
  about: `
The same with every commit durable before it is answered. The peers have a plain adapter through \`pg\` with prepared statements
and as many connections as ours has (10); clients of oidc-provider are in its memory. pgbench runs, with ${connections} clients
and without HTTP, the statements of a refresh in their single-row form: grant and rotation; and the rotation alone.
`,
  what: "POST /oauth/token",
  servers: [...onPostgres, withTwenty(onPostgres[0])],
  limits: [
    ...pgbench("the same statements, one after another", "refresh"),
    ...pgbench("the rotation alone", "rotation")
  ],
  goals: [
    { than: "oidc-provider", atLeast: 10 },
    { than: nodeOauth, atLeast: 5 },
    { than: nodeOauth, by: "cpu", atMost: 0.32 }
  ]
})

export const bearerOnPostgres: Scenario = requests({
  name: "cpu-bearer-postgres",
  title: "Checking a bearer, on PostgreSQL",
  about: `
The grant with its tokens and the athlete are read for every request, so that a revocation on any node takes effect immediately.
pgbench reads the same two rows.
`,
  what: "GET /api/v1/athlete",
  servers: onPostgres,
  limits: pgbench("the same statements, one after another", "bearerAndUser"),
  goals: [{ than: fastestPeer, atLeast: 2.4 }]
})

const layerNames = {
  router: "all endpoints, without HTTP",
  core: "the core alone",
  cryptography: "hashes and derivations alone"
} as const

/** A part of a request in a loop, in a process of its own. */
const layer = (work: "refresh" | "bearer", layer: keyof typeof layerNames): Contender.Contender => ({
  name: layerNames[layer],
  role: "limit",
  measure: async (effort) => {
    const running = await Process.start("workers/Layers", [work, layer], "measured", { env: usualTokens })
    try {
      return await running.ask<Measurement>(effort)
    } finally {
      await running.stop()
    }
  }
})

const layersOf = (work: "refresh" | "bearer", effort: Parameters<Scenario["run"]>[0]) =>
  compare({
    title: work === "refresh" ? "POST /oauth/token" : "GET /api/v1/athlete",
    contenders: [
      ...inMemory.slice(0, 3).map((options) => Contender.server(options, work === "refresh" ? refreshing : asking)),
      layer(work, "router"),
      layer(work, "core"),
      layer(work, "cryptography")
    ],
    goals: []
  }, effort)

export const layers: Scenario = {
  name: "cpu-layers",
  title: "Where the time of a request goes, in memory",
  about: `
A request in full, with each part alone: plain \`node:http\`, our binding in a fiber, all endpoints in a loop without HTTP, the core
in a loop, and its cryptography. \`docs/decisions.md\` has the budget of each part.
`,
  run: async (effort) => [await layersOf("refresh", effort), await layersOf("bearer", effort)]
}
