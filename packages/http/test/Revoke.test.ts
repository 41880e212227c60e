import { describe, expect } from "@effect/vitest"
import { Policy } from "@startlist/core"
import { Effect } from "effect"
import { Service } from "./support/Service.ts"
import { testing } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const isEmptyObject = expect.objectContaining({ status: 200, body: "{}" })

describe("POST /oauth/revoke (requirements §4.4)", () => {
  for (const kind of ["access_token", "refresh_token"] as const) {
    testing(
      `invalidates all tokens of the application for the user, by its ${kind}`,
      (world) =>
        Effect.gen(function*() {
          const first = yield* world.tokens()
          const second = World.tokensOf(yield* world.refresh(first.refresh_token))
          expect(yield* world.form("/oauth/revoke", { ...world.client, token: second[kind] })).toEqual(isEmptyObject)
          for (const { access_token } of [first, second]) {
            expect((yield* world.athleteWith(access_token)).status).toBe(401)
          }
          expect((yield* world.refresh(second.refresh_token)).status).toBe(401)
          expect((yield* world.browser.get("/account/applications")).body).not.toContain("Race Planner")
          const { audit } = yield* Service
          expect(audit.at(-1)).toMatchObject({
            action: "revocation",
            actor: { _tag: "Application" },
            subject: { _tag: "User" }
          })
        })
    )
  }

  testing(
    "never answers with an error body, always {} (requirements §7), and records what ended access only",
    (world) =>
      Effect.gen(function*() {
        const { audit, send } = yield* Service
        const { access_token: token } = yield* world.tokens()
        const other = yield* world.register("Other")
        const attempts = [
          world.form("/oauth/revoke", { ...world.client, token: "unknown" }),
          world.form("/oauth/revoke", { ...world.client }),
          world.form("/oauth/revoke", { ...world.client, client_secret: "wrong", token }),
          world.form("/oauth/revoke", { ...world.client, client_id: "1e3", token }),
          world.form("/oauth/revoke", { ...other, token }),
          world.form("/oauth/revoke", {}),
          world.form("/oauth/revoke", { token }),
          send("POST", "/oauth/revoke?client_id=%zz"),
          send("POST", "/oauth/revoke", { body: "x".repeat(70_000) }),
          send("POST", "/oauth/revoke", { body: "{}", headers: { "content-type": "application/json" } })
        ]
        for (const attempt of attempts) expect(yield* attempt).toEqual(isEmptyObject)
        expect(audit.map(({ action }) => action)).not.toContain("revocation")
        expect((yield* world.athleteWith(token)).status).toBe(200)
      })
  )

  testing("only when the store is down it is 503 with Retry-After, and still {}", (world) =>
    Effect.gen(function*() {
      const { switches } = yield* Service
      const { access_token: token } = yield* world.tokens()
      switches.storeIsDown = true
      const response = yield* world.form("/oauth/revoke", { ...world.client, token })
      expect(response).toMatchObject({ status: 503, body: "{}", headers: { "retry-after": expect.any(String) } })
    }))

  testing("in the strict profile a wrong client is invalid_client", (world) =>
    Effect.gen(function*() {
      const wrong = yield* world.form("/oauth/revoke", { ...world.client, client_secret: "wrong", token: "x" })
      expect(wrong.status).toBe(401)
      expect(World.json(wrong)).toMatchObject({ error: "invalid_client" })
      expect(yield* world.form("/oauth/revoke", { ...world.client, token: "unknown" })).toEqual(isEmptyObject)
    }), { policy: Policy.rfc })
})
