import { describe, expect } from "@effect/vitest"
import { Effect, FastCheck, Runtime } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

describe("any input", () => {
  const paths = [
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/introspect",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/api/v1/athlete",
    "/api/v1/webhook_subscription",
    "/login",
    "/logout",
    "/language",
    "/account/applications",
    "/account/applications/1/revoke",
    "/account/applications/x%00/revoke"
  ]
  const text = FastCheck.oneof(
    FastCheck.string(),
    FastCheck.string({ unit: "binary" }),
    FastCheck.constantFrom(
      "1",
      "code",
      "allow",
      "deny",
      "read",
      "refresh_token",
      "authorization_code",
      World.redirectUri
    )
  )
  const names = FastCheck.constantFrom(
    ..."client_id client_secret code grant_type refresh_token redirect_uri response_type scope state role".split(" "),
    ..."locale token csrf decision return_to email password code_challenge code_challenge_method id __proto__".split(
      " "
    )
  )
  const encoded = FastCheck.oneof(
    text,
    FastCheck.array(FastCheck.tuple(names, text)).map((pairs) => String(new URLSearchParams(pairs))),
    FastCheck.json(),
    FastCheck.json().map((json) => `{"webhook_subscription":${json}}`)
  )
  const requests = FastCheck.record({
    method: FastCheck.constantFrom("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS"),
    path: FastCheck.oneof(FastCheck.constantFrom(...paths), FastCheck.webPath()),
    query: encoded,
    type: FastCheck.oneof(FastCheck.constantFrom("application/x-www-form-urlencoded", "application/json"), text),
    authorization: FastCheck.oneof(text, text.map((value) => `Basic ${value}`), FastCheck.constant("token")),
    cookie: FastCheck.oneof(text, FastCheck.constant("session")),
    body: FastCheck.oneof(encoded, FastCheck.uint8Array())
  })

  testing("gets a response, and never a 5xx", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token } = yield* world.tokens({}, world.platformBrowser)
      const session = `startlist_session=${world.browser.cookies.get("startlist_session")}`
      const runPromise = Runtime.runPromise(yield* Effect.runtime())
      const answers = FastCheck.asyncProperty(requests, async (request) => {
        const { authorization, body, cookie, method, path, query, type } = request
        const response = await runPromise(send(method, `${path}?${query}`, {
          headers: {
            "content-type": type,
            authorization: authorization === "token" ? `Bearer ${access_token}` : authorization,
            cookie: cookie === "session" ? session : cookie
          },
          body
        }))
        expect(response.status).toBeLessThan(500)
      })
      yield* Effect.promise(() => FastCheck.assert(answers, { numRuns: 1000 }))
    }))
})
