/** A platform user, an athlete, and an application with which the tests act. */
import { Applications } from "@startlist/core"
import type { Http } from "@startlist/http"
import { Effect, Redacted, Schema } from "effect"
import * as Browser from "./Browser.ts"
import { Service } from "./Service.ts"
import { TestAccounts } from "@startlist/test-support/TestAccounts"

export const redirectUri = "https://app.test/callback"

const TokenResponse = Schema.Struct({
  token_type: Schema.Literal("Bearer"),
  access_token: Schema.String,
  refresh_token: Schema.String,
  scope: Schema.optional(Schema.String),
  created_at: Schema.Int,
  expires_in: Schema.Int,
  state: Schema.optional(Schema.String)
})
export type TokenResponse = typeof TokenResponse.Type

export const json = (response: Http.Response): unknown => JSON.parse(String(response.body))

export const tokensOf = (response: Http.Response): TokenResponse =>
  Schema.decodeUnknownSync(TokenResponse)(json(response))

/** The parameters of the redirect that a response is. */
export const redirectOf = (
  response: Http.Response
): { readonly address: string; readonly query: Browser.Fields } => {
  const location = String(response.headers["location"])
  const [address = "", query = ""] = location.split("?", 2)
  return { address, query: Object.fromEntries(new URLSearchParams(query)) }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export const make = Effect.gen(function*() {
  const { send } = yield* Service
  const applications = yield* Applications.Applications
  const accounts = yield* TestAccounts
  const platform = yield* accounts.create("platform", "platform@example.test")
  const athlete = yield* accounts.create("athlete", "athlete@example.test")

  const register = (name: string, requirePkce = false) =>
    Effect.map(
      applications.create(platform.id, { name, redirectUris: [redirectUri], requirePkce }),
      ({ application, secret }) => ({
        client_id: String(application.id),
        client_secret: Redacted.value(secret)
      })
    )
  const client = yield* register("Race Planner")

  const browserOf = (email: string) =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      yield* browser.signIn(email)
      return browser
    })
  const browser = yield* browserOf("athlete@example.test")
  const platformBrowser = yield* browserOf("platform@example.test")

  const authorizeUrl = (parameters: Browser.Fields = {}) =>
    `/oauth/authorize?${
      Browser.urlencoded({
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "read",
        ...parameters
      })
    }`

  /** Consents. Returns the redirect to the application. */
  const decide = (
    decision: string,
    parameters: Browser.Fields = {},
    by: Browser.Browser = browser
  ) =>
    Effect.gen(function*() {
      const page = yield* by.get(authorizeUrl(parameters))
      const { action, hidden } = Browser.formTo("/oauth/authorize", page)
      return yield* by.post(action, { ...hidden, decision })
    })

  const codeOf = (parameters: Browser.Fields = {}, by: Browser.Browser = browser) =>
    Effect.map(decide("allow", parameters, by), (response) => String(redirectOf(response).query["code"]))

  const form = (path: string, fields: Browser.Fields, headers: Http.Request["headers"] = {}) =>
    send("POST", path, {
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: Browser.urlencoded(fields)
    })

  const exchange = (code: string, fields: Browser.Fields = {}) =>
    form("/oauth/token", { ...client, grant_type: "authorization_code", code, ...fields })

  const refresh = (token: string, fields: Browser.Fields = {}) =>
    form("/oauth/token", { ...client, grant_type: "refresh_token", refresh_token: token, ...fields })

  /** Consents and exchanges: a pair of tokens. */
  const tokens = (parameters: Browser.Fields = {}, by: Browser.Browser = browser) =>
    Effect.map(Effect.flatMap(codeOf(parameters, by), (code) => exchange(code)), tokensOf)

  const athleteWith = (token: string) => send("GET", "/api/v1/athlete", { headers: bearer(token) })

  return {
    athlete,
    athleteWith,
    authorizeUrl,
    browser,
    browserOf,
    client,
    codeOf,
    decide,
    exchange,
    form,
    platform,
    platformBrowser,
    refresh,
    register,
    tokens
  }
})
