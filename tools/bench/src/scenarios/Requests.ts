/** Complete HTTP requests: the refresh of a token, and a resource with a bearer token. */
import * as Contender from "../Contender.ts"
import { asking, refreshing } from "../Protocol.ts"
import * as Runtime from "../Runtime.ts"
import { compare, fastestPeer, type Scenario } from "../Scenario.ts"

const rawName = "raw node:http"

const servers = [
  { name: "Startlist", role: "ours", program: "Startlist", args: ["memory"] },
  { name: rawName, role: "limit", program: "Raw", args: [] },
  { name: "the same in a fiber for each request", role: "limit", program: "Raw", args: ["fiber"] },
  { name: "@node-oauth, bare", role: "peer", program: "NodeOauth", args: ["bare"] },
  { name: "@node-oauth, Express", role: "peer", program: "NodeOauth", args: ["express"] },
  { name: "@jmondi", role: "peer", program: "Jmondi", args: [] },
  { name: "oidc-provider", role: "peer", program: "OidcProvider", args: [] }
] as const

const contenders = (conversations: typeof refreshing) =>
  Runtime.place(servers).map((options) => Contender.server(options, conversations))

export const refresh: Scenario = {
  name: "refresh",
  title: "Refreshing a token, in memory",
  about: `
\`POST /oauth/token\` with a form, 64 connections, one core: client secret checked, refresh token replaced by a new one, a new
access token. The limit parses the same form and answers the same JSON; the second limit does so behind our binding, in a
fiber of its own for each request: what lies between that and ours is the work itself. Ours recognises a
replaced token, to revoke the grant at a replay; the peers forget them, except oidc-provider.
`,
  run: async (effort) => [
    await compare({
      title: "POST /oauth/token",
      contenders: contenders(refreshing),
      goals: Runtime.goals(servers, [
        { than: "oidc-provider", atLeast: 5 },
        { than: fastestPeer, atLeast: 1.6 },
        { than: rawName, atLeast: 0.7 }
      ])
    }, effort)
  ]
}

export const bearer: Scenario = {
  name: "bearer",
  title: "Checking a bearer, in memory",
  about: `
\`GET /api/v1/athlete\`, 64 connections, one core: access token, its time and its scope checked, the athlete shown. The limit
looks an answer up by the token; the second limit does so behind our binding, in a fiber for each request. The access tokens
of @jmondi are signed (HS256) and also looked up, because a revocation takes effect immediately.
`,
  run: async (effort) => [
    await compare({
      title: "GET /api/v1/athlete",
      contenders: contenders(asking),
      goals: Runtime.goals(servers, [{ than: fastestPeer, atLeast: 1.2 }, { than: rawName, atLeast: 0.8 }])
    }, effort)
  ]
}
