import { describe, expect } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const metadata = "http://127.0.0.1:8080/.well-known/oauth-protected-resource/api/v1/athlete"

const challenge = `Bearer realm="startlist", scope="profile:read", resource_metadata="${metadata}"`

describe("GET /api/v1/athlete (requirements §4.5)", () => {
  testing("returns id, first_name and last_name of the token's user", (world) =>
    Effect.gen(function*() {
      const { access_token } = yield* world.tokens()
      const response = yield* world.athleteWith(access_token)
      expect(World.json(response)).toEqual({ id: world.athlete.id, first_name: "Ada", last_name: "Lovelace" })
    }))

  testing("accepts the scheme in any case, and no other scheme", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token } = yield* world.tokens()
      const statusWith = (authorization: string) =>
        Effect.map(send("GET", "/api/v1/athlete", { headers: { authorization } }), ({ status }) => status)
      expect(yield* statusWith(`bEaReR ${access_token}`)).toBe(200)
      for (const wrong of [access_token, `Basic! ${access_token}`, `Token ${access_token}`, `Bearer${access_token}`]) {
        expect([wrong, yield* statusWith(wrong)]).toEqual([wrong, 401])
      }
    }))

  testing(
    "the challenge to a request without a token, or with another scheme, has no error (RFC 6750 §3.1)",
    () =>
      Effect.gen(function*() {
        const { send } = yield* Service
        for (const headers of [{}, { authorization: "Basic eDp5" }, { authorization: "Bearerx" }]) {
          const response = yield* send("GET", "/api/v1/athlete", { headers })
          expect([response.status, response.headers["www-authenticate"]]).toEqual([401, challenge])
        }
      })
  )

  testing(
    "a revoked token gets 401 with a Bearer challenge (requirements §7)",
    (world) =>
      Effect.gen(function*() {
        const { access_token } = yield* world.tokens()
        yield* world.form("/oauth/revoke", { ...world.client, token: access_token })
        const response = yield* world.athleteWith(access_token)
        expect(response.status).toBe(401)
        expect(response.headers["www-authenticate"]).toMatch(/^Bearer .*error="invalid_token"/)
        expect(JSON.stringify(response)).not.toContain(access_token)
      })
  )

  testing(
    "a request without a token gets 401 with a challenge that names no error (RFC 6750 §3.1)",
    () =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const response = yield* send("GET", "/api/v1/athlete")
        expect(response.status).toBe(401)
        expect(response.headers["www-authenticate"]).toBe(challenge)
        expect(World.json(response)).toEqual({
          message: expect.any(String),
          error: "invalid_token",
          error_description: expect.any(String),
          errors: [{ resource: "AccessToken", field: "authorization", code: "invalid", message: expect.any(String) }]
        })
      })
  )

  testing("access tokens expire after 8 hours, 28800 seconds (requirements §8)", (world) =>
    Effect.gen(function*() {
      const { access_token } = yield* world.tokens()
      yield* TestClock.adjust("28799 seconds")
      expect((yield* world.athleteWith(access_token)).status).toBe(200)
      yield* TestClock.adjust("1 second")
      expect((yield* world.athleteWith(access_token)).status).toBe(401)
    }))

  testing("a refresh token is not accepted as an access token", (world) =>
    Effect.gen(function*() {
      expect((yield* world.athleteWith((yield* world.tokens()).refresh_token)).status).toBe(401)
    }))

  testing("a user who is not an athlete gets 403", (world) =>
    Effect.gen(function*() {
      const { access_token } = yield* world.tokens({}, world.platformBrowser)
      expect((yield* world.athleteWith(access_token)).status).toBe(403)
    }))

  testing("a token without a scope for reading gets 403", (world) =>
    Effect.gen(function*() {
      for (
        const [scope, status] of [["write", 403], ["profile:write", 403], ["profile:read", 200], ["read+write", 200]]
      ) {
        const { access_token } = yield* world.tokens({ scope: String(scope) })
        expect([scope, (yield* world.athleteWith(access_token)).status]).toEqual([scope, status])
      }
    }))

  testing("answers HEAD like GET without the body", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const headers = World.bearer((yield* world.tokens()).access_token)
      const get = yield* send("GET", "/api/v1/athlete", { headers })
      const head = yield* send("HEAD", "/api/v1/athlete", { headers })
      expect(head).toEqual({
        status: 200,
        headers: { ...get.headers, "content-length": String(String(get.body).length) },
        body: ""
      })
    }))

  testing("all requests get 503 with Retry-After while the store is unavailable", (world) =>
    Effect.gen(function*() {
      const { switches } = yield* Service
      const { access_token } = yield* world.tokens()
      switches.storeIsDown = true
      const response = yield* world.athleteWith(access_token)
      expect(response.status).toBe(503)
      expect(response.headers["retry-after"]).toBeDefined()
    }))
})
