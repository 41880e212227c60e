/**
 * What servers and layers of Startlist have in common: an application, its athletes with tokens, and the services over some
 * stores. `ACCESS_TOKENS` is the number of access tokens that a grant has.
 */
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
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Protocol from "@startlist/http/Protocol"
import { fallback, make } from "@startlist/http/Router"
import * as Users from "@startlist/postgres/Users"
import { Effect, Layer, Option, Redacted } from "effect"
import { connections, scope } from "./Protocol.ts"

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

/** Inserts athletes with tokens. Default: one per connection, and one more. */
export const prepare = (athleteCount = connections + 1) =>
  Effect.gen(function*() {
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
      Array.from({ length: athleteCount }).keys(),
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

/** All endpoints, without HTTP. */
export const handler = Effect.map(
  Protocol.routes,
  (routes) => make(routes, fallback((_request, error) => ({ status: 404, headers: {}, body: error._tag })))
)

const policy = Layer.succeed(Policy, {
  ...documented,
  maxAccessTokens: Number(process.env["ACCESS_TOKENS"] ?? documented.maxAccessTokens)
})

/** The services over these stores. */
export const layer = <E>(stores: Layer.Layer<Services.Stores | UserStore | Users.Users, E>) =>
  Layer.mergeAll(Services.layer, FailureLimit.layerMemory, HttpConfig.layerLocal).pipe(
    Layer.provideMerge(Layer.mergeAll(Audit.none, stores, NodeSecrets.layerDrawn, noCallbacks)),
    Layer.provideMerge(policy)
  )

/** The users of a server that keeps them in memory. */
const usersInMemory = Layer.sync(Users.Users, () => {
  const users = new Map<UserId, User>()
  return {
    find: (id) => Effect.sync(() => Option.fromNullable(users.get(id))),
    add: () => Effect.dieMessage("this server imports no users"),
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

/** The stores in memory. */
export const inMemory = Layer.merge(
  Memory.layer,
  Layer.provideMerge(Layer.effect(UserStore, Users.Users), usersInMemory)
)
