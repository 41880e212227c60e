/** Startlist behind its `node:http` binding, as a server that embeds it has it: what the contenders share. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Applications from "@startlist/core/Applications"
import { Callbacks } from "@startlist/core/Callbacks"
import type { Stores } from "@startlist/core/Memory"
import * as OAuth from "@startlist/core/OAuth"
import * as Services from "@startlist/core/Services"
import { UserStore } from "@startlist/core/User"
import * as MemoryThrottle from "@startlist/http/MemoryThrottle"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Protocol from "@startlist/http/Protocol"
import { fallback, make } from "@startlist/http/Router"
import { Effect, Layer, Option, Redacted } from "effect"
import { announce, connections } from "../Contender.ts"

const noCallbacks = Layer.succeed(Callbacks, {
  accepts: () => false,
  deliver: () => Effect.dieMessage("nothing is delivered here"),
  validate: () => Effect.dieMessage("nothing is validated here")
})

const redirectUri = "http://localhost/callback"

const parameters = {
  redirectUri: Option.some(redirectUri),
  responseType: Option.some("code"),
  scope: Option.some("read"),
  state: Option.none(),
  role: Option.none(),
  codeChallenge: Option.none(),
  codeChallengeMethod: Option.none()
}

/** One athlete for each connection, with tokens. */
const prepare = Effect.gen(function*() {
  const users = yield* UserStore
  const oauth = yield* OAuth.OAuth
  const owner = yield* users.insert({ role: "platform", email: "owner@example.test", firstName: "", lastName: "" })
  const { application, secret } = yield* (yield* Applications.Applications).create(owner.id, {
    name: "Benchmark",
    redirectUris: [],
    requirePkce: false
  })
  const request = yield* oauth.authorize(application.id, parameters)
  const client = { id: application.id, secret }
  const tokens = yield* Effect.forEach(Array.from({ length: connections }).keys(), (index) =>
    Effect.gen(function*() {
      const email = `athlete${index}@example.test`
      const user = yield* users.insert({ role: "athlete", email, firstName: "Ada", lastName: "Runner" })
      const code = yield* oauth.consent(request, user)
      return yield* oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none() })
    }))
  return { client, tokens }
})

const program = Effect.gen(function*() {
  const { client, tokens } = yield* prepare
  const routes = yield* Protocol.routes
  const server = createServer(
    yield* NodeHttp.listener(make(
      routes,
      fallback((_request, error) => ({
        status: 404,
        headers: {},
        body: error._tag
      }))
    ))
  )
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    announce({
      port,
      clientId: client.id,
      clientSecret: Redacted.value(client.secret),
      refreshTokens: tokens.map(({ refreshToken }) => Redacted.value(refreshToken)),
      accessToken: tokens.slice(0, 1).map(({ accessToken }) => Redacted.value(accessToken)).join("")
    })
  })
  return yield* Effect.never
})

/** Serves over these stores until the process is ended. */
export const serve = <E>(stores: Layer.Layer<Stores, E>): void => {
  const layer = Layer.merge(Services.layer, MemoryThrottle.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(stores, NodeSecrets.layer, noCallbacks))
  )
  Effect.runFork(Effect.provide(program, layer))
}
