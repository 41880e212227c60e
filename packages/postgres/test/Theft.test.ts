/** With the whole database, the keys, or both, but without a token, nobody can create a token that is accepted. */
import { it } from "@effect/vitest"
import { Applications, Grant, OAuth, Secrets, Token, type User } from "@startlist/core"
import { GrantStore } from "@startlist/core/Grant"
import { Users } from "@startlist/postgres"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Option, Redacted } from "effect"
import { describe, expect } from "vitest"

/** A grant in use: a pending code, several access tokens, and a refresh token that has predecessors. */
const inUse = Effect.gen(function*() {
  const users = yield* Users.Users
  const applications = yield* Applications.Applications
  const oauth = yield* OAuth.OAuth
  const user = yield* users.insert({ role: "platform", email: "ada@a.test", firstName: "Ada", lastName: "L" })
  const redirectUri = "https://app.test/callback"
  const settings = { name: "App", redirectUris: [redirectUri], requirePkce: false }
  const { application, secret } = yield* applications.create(user.id, settings)
  const client = { id: application.id, secret }
  const asked = { application, redirectUri, scope: ["read"], state: none, role: none, challenge: none }
  const code = yield* oauth.consent(asked, user)
  let tokens = yield* oauth.exchange({ client, code, redirectUri: none, verifier: none })
  for (let n = 0; n < 3; n++) tokens = yield* oauth.refresh({ client, token: tokens.refreshToken })
  yield* oauth.consent(asked, user)
  return { client, tokens, user }
})

const none = Option.none()

type InUse = Effect.Effect.Success<typeof inUse>

/** Every text in the row of the grant, and every part of one. */
const textsOf = (row: string): ReadonlyArray<string> => [
  ...new Set([row, ...row.split(/[^\w.:/+=-]+/), ...row.split(/[^A-Za-z0-9_-]+/)].filter((text) => text !== ""))
]

const stolenRow = Effect.gen(function*() {
  const { admin } = yield* TestDatabase.TestDatabase
  const { rows } = yield* Effect.promise(() => admin.query("SELECT g::text AS row FROM startlist_grants g"))
  return String(rows[0].row)
})

const grantOf = ({ client, user }: { readonly client: InUse["client"]; readonly user: User.User }) =>
  Effect.flatMap(GrantStore, ({ find }) => Effect.map(Effect.flatten(find(client.id, user.id)), ({ grant }) => grant))

/** As tokens and codes of the grant: of the present generation, the next one and the one after it. */
const inEveryForm = (grant: Grant.Grant, secret: string): ReadonlyArray<string> => [
  secret,
  `${Secrets.prefixes.access}${Token.nameOf(grant)}${secret}`,
  `${Secrets.prefixes.code}${Token.nameOf(grant)}${secret}`,
  ...[0, 1, 2].map((ahead) =>
    `${Secrets.prefixes.refresh}${Token.refreshNameOf(grant, grant.epoch, grant.generation + ahead)}${secret}`
  )
]

/** Tries a text as every kind of token, with the correct client secret. */
const isAccepted = (client: InUse["client"], text: string) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth.OAuth
    const token = Redacted.make(text)
    const attempts: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      oauth.authenticate(token),
      oauth.refresh({ client, token }),
      oauth.exchange({ client, code: token, redirectUri: none, verifier: none }),
      Effect.flatten(oauth.introspect(token, none))
    ]
    return yield* Effect.exists(attempts, (attempt) => Effect.isSuccess(attempt))
  })

/** None of these is accepted, and the grant is not changed. */
const mustFail = (stolen: InUse, texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const before = yield* grantOf(stolen)
    for (const text of texts) expect([text, yield* isAccepted(stolen.client, text)]).toEqual([text, false])
    expect(yield* grantOf(stolen)).toEqual(before)
    const oauth = yield* OAuth.OAuth
    yield* oauth.refresh({ client: stolen.client, token: stolen.tokens.refreshToken })
  })

const testing = <A, E>(name: string, test: Effect.Effect<A, E, Layers>) =>
  it.live(
    name,
    () =>
      Effect.flatMap(TestDatabase.TestDatabase, ({ url }) => Effect.provide(test, fixtures.node({ url }))).pipe(
        Effect.provide(TestDatabase.layer)
      )
  )

type Layers = Effect.Effect.Context<ReturnType<typeof mustFail>> | Effect.Effect.Context<typeof everything>

const everything = Effect.all([inUse, stolenRow, Secrets.Secrets])

describe("no accepted token can be created", () => {
  testing(
    "with the database",
    Effect.gen(function*() {
      const [stolen, row] = yield* everything
      const grant = yield* grantOf(stolen)
      yield* mustFail(stolen, textsOf(row).flatMap((text) => inEveryForm(grant, text)))
    })
  )

  /** Tokens that the keys derive from these, with the salt of the grant and without. */
  const derived = (grant: Grant.Grant, keys: ReadonlyArray<Secrets.TokenKey>, texts: ReadonlyArray<string>) => {
    const salts = [...Option.toArray(Option.map(grant.refresh, ({ salt }) => salt)), ""]
    return keys.flatMap((key) =>
      texts.flatMap((presented) =>
        salts.flatMap((salt) =>
          [none, Option.some("key")].flatMap((idempotencyKey) =>
            [0, 1].flatMap((ahead) => {
              const refreshName = Token.refreshNameOf(grant, grant.epoch, grant.generation + ahead)
              const origin = { presented: Redacted.make(presented), salt, idempotencyKey }
              const { accessToken, refreshToken } = key.derive(origin, Token.nameOf(grant), refreshName)
              return [accessToken, refreshToken].map((token) => Redacted.value(token))
            })
          )
        )
      )
    )
  }

  testing(
    "with the keys",
    Effect.gen(function*() {
      const [stolen, , { keys }] = yield* everything
      const grant = yield* grantOf(stolen)
      const guesses = ["", "0", Token.nameOf(grant), ...inEveryForm(grant, "x")]
      yield* mustFail(stolen, derived(grant, keys, guesses))
    })
  )

  testing(
    "with the database and the keys",
    Effect.gen(function*() {
      const [stolen, row, { keys }] = yield* everything
      const grant = yield* grantOf(stolen)
      const { hash, salt } = Option.getOrThrow(grant.refresh)
      const hashes = [
        hash,
        ...grant.access.map((token) => token.hash),
        ...grant.codes.map((code) => code.hash)
      ]
      const texts = [salt, row, ...hashes.flatMap((text) => inEveryForm(grant, text))]
      yield* mustFail(stolen, derived(grant, keys, texts))
    })
  )
})

describe("with the keys", () => {
  testing(
    "a replaced token can be forged, which has no effect",
    Effect.gen(function*() {
      const [{ client, user }, , { keys }] = yield* everything
      const oauth = yield* OAuth.OAuth
      const grant = yield* grantOf({ client, user })
      const origin = { presented: Redacted.make("made up"), salt: "", idempotencyKey: none }
      const { refreshToken } = keys[0].derive(origin, "", Token.refreshNameOf(grant, grant.epoch, 1))
      const refused = yield* Effect.flip(oauth.refresh({ client, token: refreshToken }))
      expect(refused).toMatchObject({ _tag: "@startlist/core/InvalidGrant", reason: "replaced" })
      expect(yield* grantOf({ client, user })).toEqual(grant)
    })
  )
})
