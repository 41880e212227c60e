/**
 * Startlist with its `node:http` binding, like in an embedding server. Arguments: `memory`, or `postgres` and the
 * database, or `embedded` and a folder; then the number of athletes. `MASTER_KEY` is that of another process on the
 * same database. `ACCESS_TOKENS` is the number of access tokens that a grant has, `V8_FLAGS` are flags of V8.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { setFlagsFromString } from "node:v8"
import * as Applications from "@startlist/core/Applications"
import * as Audit from "@startlist/core/Audit"
import { Callbacks } from "@startlist/core/Callbacks"
import * as Memory from "@startlist/core/Memory"
import * as OAuth from "@startlist/core/OAuth"
import { documented, Policy } from "@startlist/core/Policy"
import * as Services from "@startlist/core/Services"
import { User, UserId, UserStore } from "@startlist/core/User"
import * as FailureLimit from "@startlist/http/FailureLimit"
import * as HttpConfig from "@startlist/http/HttpConfig"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Protocol from "@startlist/http/Protocol"
import { fallback, make } from "@startlist/http/Router"
import * as EmbeddedDatabase from "@startlist/postgres/Embedded"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as Users from "@startlist/postgres/Users"
import { Effect, Layer, Option, Redacted } from "effect"
import * as Child from "../Child.ts"
import { connections, scope } from "../Protocol.ts"

// All that takes time is compiled later.
setFlagsFromString(process.env["V8_FLAGS"] ?? "")

const noCallbacks = Layer.succeed(Callbacks, {
  problem: () => Option.some("invalid"),
  deliver: () => Effect.dieMessage("this server does not deliver events"),
  validate: () => Effect.dieMessage("this server does not validate callbacks")
})

const parameters = {
  redirectUri: Option.some("http://localhost/callback"),
  responseType: Option.some("code"),
  scope: Option.some(scope),
  state: Option.none(),
  role: Option.none(),
  codeChallenge: Option.none(),
  codeChallengeMethod: Option.none(),
  responseMode: Option.none()
}

const [, , kind, where = "", athleteCount = connections + 1] = process.argv

/** Inserts athletes with tokens. Default: one per connection, and one more. */
const prepare = Effect.gen(function*() {
  const users = yield* Users.Users
  const oauth = yield* OAuth.OAuth
  const owner = yield* users.insert({ role: "platform", email: "owner@example.test", firstName: "", lastName: "" })
  const { application, secret } = yield* (yield* Applications.Applications).create(owner.id, {
    name: "Benchmark",
    redirectUris: [],
    requirePkce: false
  })
  const request = yield* oauth.authorize(application.id, parameters)
  const client = { id: application.id, secret }
  const athletes = yield* Effect.forEach(
    Array.from({ length: Number(athleteCount) }).keys(),
    (index) =>
      Effect.gen(function*() {
        const email = `athlete${index}@example.test`
        const user = yield* users.insert({ role: "athlete", email, firstName: "Ada", lastName: "Runner" })
        const code = yield* oauth.consent(request, user)
        const tokens = yield* oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none() })
        return {
          id: user.id,
          accessToken: Redacted.value(tokens.accessToken),
          refreshToken: Redacted.value(tokens.refreshToken)
        }
      }),
    { concurrency: 16 }
  )
  return { clientId: String(client.id), clientSecret: Redacted.value(secret), athletes }
})

const program = Effect.gen(function*() {
  const fixture = yield* prepare
  const otherwise = fallback((_request, error) => ({ status: 404, headers: {}, body: error._tag }))
  const server = createServer(yield* NodeHttp.listener(make(yield* Protocol.routes, otherwise)))
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    Child.ready({ ...fixture, port: typeof address === "object" && address !== null ? address.port : 0 })
  })
  return yield* Effect.never
})

const seal = Seal.layerWith({ key: Redacted.make(process.env["MASTER_KEY"] ?? randomBytes(32).toString("base64")) })

const policy = Layer.succeed(Policy, {
  ...documented,
  maxAccessTokens: Number(process.env["ACCESS_TOKENS"] ?? documented.maxAccessTokens)
})

const serve = <E>(stores: Layer.Layer<Services.Stores | UserStore | Users.Users, E>): void => {
  const layer = Layer.mergeAll(Services.layer, FailureLimit.layerMemory, HttpConfig.layerLocal).pipe(
    Layer.provideMerge(Layer.mergeAll(Audit.none, stores, NodeSecrets.layerDrawn, noCallbacks)),
    Layer.provideMerge(policy)
  )
  Effect.runFork(Effect.tapErrorCause(Effect.provide(program, layer), Effect.logError))
}

/** The users of a server that keeps them in memory. */
const usersInMemory = Layer.sync(Users.Users, () => {
  const users = new Map<UserId, User>()
  return {
    find: (id) => Effect.sync(() => Option.fromNullable(users.get(id))),
    findByEmail: () => Effect.dieMessage("this server has no sign-in"),
    list: () => Effect.dieMessage("this server does not list users"),
    remove: () => Effect.dieMessage("this server does not remove users"),
    insert: (fields) =>
      Effect.sync(() => {
        const user = { ...fields, id: UserId.make(users.size + 1) }
        users.set(user.id, user)
        return user
      })
  }
})

if (kind === "memory") {
  const users = Layer.provideMerge(Layer.effect(UserStore, Users.Users), usersInMemory)
  serve(Layer.merge(Memory.layer, users))
}
if (kind === "postgres") {
  const stores = Postgres.layer({ url: Redacted.make(where) }).pipe(Layer.provide(seal))
  serve(Layer.provideMerge(Users.layer, stores))
}
if (kind === "embedded") {
  const stores = EmbeddedDatabase.layerWith({ folder: where }).pipe(Layer.provide(seal))
  serve(Layer.provideMerge(Users.layer, stores))
}
