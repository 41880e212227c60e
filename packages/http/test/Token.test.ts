import { describe, expect } from "@effect/vitest"
import { Policy } from "@startlist/core"
import { NodeSecrets } from "@startlist/http"
import { Effect, TestClock } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

const isInvalidGrant = (status: number) =>
  expect.objectContaining({ status, body: expect.stringContaining("\"error\":\"invalid_grant\"") })

describe("POST /oauth/token with a code (requirements §4.2)", () => {
  testing(
    "returns the token response of requirements §2.2 with scope and the state of the authorization request",
    (world) =>
      Effect.gen(function*() {
        yield* TestClock.adjust("1234567 millis")
        const response = yield* world.exchange(yield* world.codeOf({ scope: "read write", state: "a b&c" }))
        expect(response.status).toBe(200)
        const tokens = World.tokensOf(response)
        expect(tokens).toEqual({
          token_type: "Bearer",
          access_token: expect.stringMatching(/^sl_at_/),
          refresh_token: expect.stringMatching(/^sl_rt_/),
          scope: "read write",
          created_at: 1234,
          expires_in: 28800,
          state: "a b&c"
        })
      })
  )

  testing("omits state if the request had none", (world) =>
    Effect.gen(function*() {
      const response = yield* world.exchange(yield* world.codeOf())
      expect(World.json(response)).not.toHaveProperty("state")
    }))

  testing("is not cached (RFC 6749 §5.1)", (world) =>
    Effect.gen(function*() {
      const response = yield* world.exchange(yield* world.codeOf())
      expect(response.headers).toMatchObject({ "cache-control": "no-store", "pragma": "no-cache" })
      expect((yield* world.exchange("wrong")).headers).toMatchObject({ "cache-control": "no-store" })
    }))

  testing("accepts parameters in the query, as documented", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const code = yield* world.codeOf()
      const query = new URLSearchParams({ ...world.client, grant_type: "authorization_code", code })
      const response = yield* send("POST", `/oauth/token?${query}`)
      expect(response.status).toBe(200)
    }))

  testing("accepts client credentials with HTTP Basic", (world) =>
    Effect.gen(function*() {
      const code = yield* world.codeOf()
      const { client_id, client_secret } = world.client
      const response = yield* world.form("/oauth/token", { grant_type: "authorization_code", code }, {
        authorization: `basic ${base64(`${client_id}:${encodeURIComponent(client_secret)}`)}`
      })
      expect(response.status).toBe(200)
    }))

  testing(
    "needs no redirect_uri; if there is one, it must equal the authorized one",
    (world) =>
      Effect.gen(function*() {
        const code = yield* world.codeOf()
        const other = yield* world.exchange(code, { redirect_uri: "https://app.test/other" })
        expect(other).toEqual(isInvalidGrant(400))
        expect((yield* world.exchange(code, { redirect_uri: World.redirectUri })).status).toBe(200)
      })
  )

  testing("refuses a code after its lifetime of 5 minutes", (world) =>
    Effect.gen(function*() {
      const code = yield* world.codeOf()
      yield* TestClock.adjust("5 minutes")
      expect(yield* world.exchange(code)).toEqual(isInvalidGrant(400))
    }))

  testing("the second use of a code is refused, and changes nothing", (world) =>
    Effect.gen(function*() {
      const code = yield* world.codeOf()
      const tokens = World.tokensOf(yield* world.exchange(code))
      yield* TestClock.adjust("61 seconds")
      expect(yield* world.exchange(code)).toEqual(isInvalidGrant(400))
      expect((yield* world.athleteWith(tokens.access_token)).status).toBe(200)
      const { audit } = yield* Service
      expect(audit.at(-1)).toMatchObject({ action: "replay_refused", detail: "used", subject: { _tag: "User" } })
    }))

  testing("the PKCE verifier must match the challenge (RFC 7636 §4.6)", (world) =>
    Effect.gen(function*() {
      const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
      const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
      const code = yield* world.codeOf({ code_challenge: challenge, code_challenge_method: "S256" })
      expect(yield* world.exchange(code)).toEqual(isInvalidGrant(400))
      expect(yield* world.exchange(code, { code_verifier: "other" })).toEqual(isInvalidGrant(400))
      expect((yield* world.exchange(code, { code_verifier: verifier })).status).toBe(200)
    }), { secrets: NodeSecrets.layerDrawn })
})

describe("POST /oauth/token refuses", () => {
  testing(
    "an unknown client and a wrong secret with 401 invalid_client, with a challenge only for Basic",
    (world) =>
      Effect.gen(function*() {
        const wrong = yield* world.refresh("x", { client_secret: "wrong" })
        expect(wrong.status).toBe(401)
        expect(World.json(wrong)).toMatchObject({ error: "invalid_client", error_description: expect.any(String) })
        expect(wrong.headers).not.toHaveProperty("www-authenticate")
        expect((yield* world.refresh("x", { client_id: "999" })).status).toBe(401)
        const basic = yield* world.form("/oauth/token", { grant_type: "refresh_token", refresh_token: "x" }, {
          authorization: `Basic ${base64(`${world.client.client_id}:wrong`)}`
        })
        expect(basic.status).toBe(401)
        expect(basic.headers["www-authenticate"]).toMatch(/^Basic /)
      })
  )

  testing(
    "too many wrong secrets of one client from one network with 429 and Retry-After, but never the right secret",
    (world) =>
      Effect.gen(function*() {
        const { refresh_token } = yield* world.tokens()
        const wrong = world.refresh("x", { client_secret: "wrong" })
        yield* Effect.replicateEffect(wrong, 30, { discard: true })
        const blocked = yield* wrong
        expect(blocked.status).toBe(429)
        expect(Number(blocked.headers["retry-after"])).toBeGreaterThan(0)
        const { audit } = yield* Service
        expect(audit.filter(({ action }) => action === "client_authentication_failed")).toHaveLength(30)
        expect((yield* world.refresh(refresh_token)).status).toBe(200)
        yield* TestClock.adjust("1 minute")
        expect((yield* wrong).status).toBe(401)
      })
  )

  testing(
    "with 503 and Retry-After while the store is unavailable, without details",
    (world) =>
      Effect.gen(function*() {
        const { switches } = yield* Service
        switches.storeIsDown = true
        const response = yield* world.refresh("x")
        expect(response.status).toBe(503)
        expect(response.headers["retry-after"]).toBeDefined()
        expect(World.json(response)).toEqual({
          error: "temporarily_unavailable",
          error_description: "try again later"
        })
      })
  )
})

describe("the profile for strict clients", () => {
  const rfc = { policy: Policy.rfc }

  testing("answers 400 for a replaced refresh token", (world) =>
    Effect.gen(function*() {
      const first = World.tokensOf(yield* world.exchange(yield* world.codeOf(), { redirect_uri: World.redirectUri }))
      yield* world.refresh(first.refresh_token)
      expect(yield* world.refresh(first.refresh_token)).toEqual(isInvalidGrant(400))
    }), rfc)

  testing("requires redirect_uri at the exchange", (world) =>
    Effect.gen(function*() {
      const response = yield* world.exchange(yield* world.codeOf())
      expect(response.status).toBe(400)
      expect(World.json(response)).toMatchObject({ error: "invalid_request" })
    }), rfc)

  testing("accepts no credentials in the query", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const query = new URLSearchParams({ ...world.client, grant_type: "refresh_token", refresh_token: "x" })
      const response = yield* send("POST", `/oauth/token?${query}`)
      expect(response.status).toBe(400)
      expect(World.json(response)).toMatchObject({ error: "invalid_request" })
    }), rfc)
})
