/** The services of the core over the stores in memory, with scripted receivers. */
import {
  Applications,
  Audit,
  type Authorization,
  type Client,
  Memory,
  OAuth,
  Policy,
  Services,
  TokenRequests,
  type User
} from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { Effect, Layer, Option, Redacted } from "effect"

export const redirectUri = "https://app.example.test/callback"
export const callbackUrl = "https://app.example.test/hook"

/** All services over these stores. `record` gets the entries of the audit. */
export const layerOver = (stores: Layer.Layer<Services.Stores>, record: (entry: Audit.Entry) => void = () => {}) =>
  Services.layer.pipe(
    Layer.provideMerge(Layer.succeed(Audit.Audit, { record: (entry) => Effect.sync(() => record(entry)) })),
    Layer.provideMerge(ScriptedCallbacks.layer),
    Layer.provideMerge(TestSecrets.layer("test")),
    Layer.provideMerge(TestUsers.layer),
    Layer.provideMerge(stores)
  )

/** All services in memory, with these changes of the documented policy. */
export const layerWith = (policy: Partial<Policy.Policy.Service> = {}, record?: (entry: Audit.Entry) => void) =>
  layerOver(Memory.layer, record).pipe(Layer.provide(Layer.succeed(Policy.Policy, { ...Policy.documented, ...policy })))

export const layer = layerWith()

let made = 0

/** A new user. */
export const makeUser = (role: User.Role = "athlete") =>
  Effect.gen(function*() {
    const users = yield* TestUsers.TestUsers
    return yield* users.add({ role, email: `user${++made}@example.test`, firstName: "Ada", lastName: "Lovelace" })
  })

/** A new application, as the client that it is. */
export const makeClient = (
  settings: { readonly requirePkce?: boolean; readonly redirectUris?: ReadonlyArray<string> } = {}
) =>
  Effect.gen(function*() {
    const owner = yield* makeUser("platform")
    const applications = yield* Applications.Applications
    const { application, secret } = yield* applications.create(owner.id, {
      name: "App",
      redirectUris: [redirectUri],
      requirePkce: false,
      ...settings
    })
    return { application, id: application.id, owner, secret }
  })

export type Client = Effect.Effect.Success<ReturnType<typeof makeClient>>

export const parameters = (changes: Partial<Authorization.Parameters> = {}): Authorization.Parameters => ({
  redirectUri: Option.some(redirectUri),
  responseType: Option.some("code"),
  scope: Option.some("profile:read"),
  state: Option.none(),
  role: Option.none(),
  codeChallenge: Option.none(),
  codeChallengeMethod: Option.none(),
  responseMode: Option.none(),
  ...changes
})

/** The user consents: returns a code. */
export const consent = (
  { id }: Pick<Client, "id">,
  user: User.User,
  changes: Partial<Authorization.Parameters> = {}
) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth.OAuth
    return yield* oauth.consent(yield* oauth.authorize(id, parameters(changes)), user)
  })

/** Exchanges a code for tokens. */
export const exchange = (
  client: Client.ClientCredentials,
  code: Redacted.Redacted<string>,
  presented: Partial<TokenRequests.Exchange> = {}
) =>
  Effect.flatMap(
    OAuth.OAuth,
    (oauth) => oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none(), ...presented })
  )

/** A first pair of tokens. */
export const tokensOf = (client: Client, user: User.User) =>
  Effect.flatMap(consent(client, user), (code) => exchange(client, code))

/** A client with its first pair. */
export const connected = Effect.gen(function*() {
  const client = yield* makeClient()
  const user = yield* makeUser()
  const code = yield* consent(client, user)
  return { client, code, user, first: yield* exchange(client, code) }
})

export const refresh = (
  client: Client.ClientCredentials,
  token: Redacted.Redacted<string>,
  presented: Partial<TokenRequests.Refresh> = {}
) => Effect.flatMap(OAuth.OAuth, (oauth) => oauth.refresh({ client, token, ...presented }))

/** "good", or the tag of its failure. */
export const authenticate = (token: Redacted.Redacted<string>) =>
  Effect.flatMap(
    OAuth.OAuth,
    (oauth) => oauth.authenticate(token).pipe(Effect.as("good"), Effect.catchAll((error) => Effect.succeed(error._tag)))
  )

/** The reason why a grant is refused. */
export const refusal = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.flip(effect),
    (error) => typeof error === "object" && error !== null && "reason" in error ? error.reason : error
  )
