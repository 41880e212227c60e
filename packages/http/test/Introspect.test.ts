import { describe, expect } from "@effect/vitest"
import { Policy, Secrets } from "@startlist/core"
import { Effect, Option } from "effect"
import { createHash } from "node:crypto"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const fingerprint = Secrets.Fingerprint.make(createHash("sha256").update("operator").digest("base64url"))

const operated = { config: { operatorToken: Option.some(fingerprint) } }

describe("POST /oauth/introspect (RFC 7662)", () => {
  testing("describes a client's own active tokens", (world) =>
    Effect.gen(function*() {
      const { access_token, refresh_token } = yield* world.tokens({ scope: "read write" })
      const access = yield* world.form("/oauth/introspect", { ...world.client, token: access_token })
      expect(World.json(access)).toEqual({
        active: true,
        scope: "read write",
        client_id: world.client.client_id,
        sub: String(world.athlete.id),
        token_type: "Bearer",
        iat: 0,
        exp: 28800
      })
      const refresh = yield* world.form("/oauth/introspect", { ...world.client, token: refresh_token })
      expect(World.json(refresh)).toMatchObject({ active: true, exp: 90 * 86400 })
    }))

  testing("returns only active: false for other tokens", (world) =>
    Effect.gen(function*() {
      const { access_token, refresh_token } = yield* world.tokens()
      yield* world.refresh(refresh_token)
      const other = yield* world.register("Other")
      const asked = [
        { ...other, token: access_token },
        { ...world.client, token: refresh_token },
        { ...world.client, token: "unknown" }
      ]
      for (const fields of asked) {
        expect(World.json(yield* world.form("/oauth/introspect", fields))).toEqual({ active: false })
      }
    }))

  testing("describes every token to the operator", (world) =>
    Effect.gen(function*() {
      const { access_token: token } = yield* world.tokens()
      const response = yield* world.form("/oauth/introspect", { token }, World.bearer("operator"))
      expect(World.json(response)).toMatchObject({ active: true, client_id: world.client.client_id })
    }), operated)

  testing("in the rfc profile reads no query, not even the operator's", (world) =>
    Effect.gen(function*() {
      const response = yield* world.form("/oauth/introspect?token=x", {}, World.bearer("operator"))
      expect([response.status, World.json(response)]).toMatchObject([400, { error: "invalid_request" }])
      const posted = yield* world.form("/oauth/introspect", { token: "x" }, World.bearer("operator"))
      expect([posted.status, World.json(posted)]).toEqual([200, { active: false }])
    }), { ...operated, policy: Policy.rfc })

  testing(
    "refuses a bearer without permission like a resource (RFC 7662 §2.3)",
    (world) =>
      Effect.gen(function*() {
        const { access_token } = yield* world.tokens()
        for (const token of ["other", access_token]) {
          const response = yield* world.form("/oauth/introspect", { ...world.client, token: "x" }, World.bearer(token))
          expect(response.status).toBe(401)
          expect(World.json(response)).toMatchObject({ error: "invalid_token" })
          expect(response.headers["www-authenticate"]).toMatch(/^Bearer .*error="invalid_token"/)
        }
      }),
    operated
  )

  testing("refuses everybody else", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      expect((yield* world.form("/oauth/introspect", { token: "x" }, World.bearer("other"))).status).toBe(401)
      expect((yield* world.form("/oauth/introspect", { token: "x" })).status).toBe(401)
      expect((yield* world.form("/oauth/introspect", { ...world.client, client_secret: "x", token: "x" })).status).toBe(
        401
      )
      expect((yield* world.form("/oauth/introspect", world.client)).status).toBe(400)
      expect((yield* send("GET", "/oauth/introspect")).status).toBe(405)
    }), operated)
})

describe("GET /.well-known/oauth-authorization-server (RFC 8414)", () => {
  testing("names the endpoints and their capabilities", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const response = yield* send("GET", "/.well-known/oauth-authorization-server")
      expect(World.json(response)).toMatchObject({
        issuer: "https://auth.test",
        authorization_endpoint: "https://auth.test/oauth/authorize",
        token_endpoint: "https://auth.test/oauth/token",
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: false
      })
    }), { config: { authUrl: "https://auth.test" } })

  testing("names the configured issuer", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const response = yield* send("GET", "/.well-known/oauth-authorization-server")
      expect(World.json(response)).toMatchObject({
        issuer: "https://id.test",
        authorization_response_iss_parameter_supported: true
      })
    }), { config: { issuer: Option.some("https://id.test") } })
})
