import { describe, expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Browser from "./support/Browser.ts"
import { Service } from "./support/Service.ts"
import { testing } from "./support/Testing.ts"
import * as World from "./support/World.ts"

describe("POST /oauth/authorize", () => {
  testing(
    "access granted: the redirect has code and scope, and state whenever it was supplied",
    (world) =>
      Effect.gen(function*() {
        const without = yield* world.decide("allow", { scope: "read write" })
        expect(without.status).toBe(303)
        expect(World.redirectOf(without)).toEqual({
          address: World.redirectUri,
          query: { code: expect.stringMatching(/^sl_ac_/), scope: "read write" }
        })
        const state = "ünï & \"<x>\" =%"
        expect(World.redirectOf(yield* world.decide("allow", { state })).query["state"]).toBe(state)
      })
  )

  testing(
    "access refused by the user: redirect to redirect_uri with error=access_denied (requirements §7)",
    (world) =>
      Effect.gen(function*() {
        const { address, query } = World.redirectOf(yield* world.decide("deny", { state: "s" }))
        expect(address).toBe(World.redirectUri)
        expect(query).toMatchObject({ error: "access_denied", state: "s" })
        expect(query).not.toHaveProperty("code")
        expect(World.redirectOf(yield* world.decide("deny")).query).not.toHaveProperty("state")
      })
  )

  testing("names the issuer in the redirect if one is configured (RFC 9207)", (world) =>
    Effect.gen(function*() {
      expect(World.redirectOf(yield* world.decide("allow")).query["iss"]).toBe("https://id.test")
      expect(World.redirectOf(yield* world.decide("deny")).query["iss"]).toBe("https://id.test")
    }), { config: { issuer: Option.some("https://id.test") } })

  testing("keeps the query that the redirect URI has", (world) =>
    Effect.gen(function*() {
      const redirected = yield* world.decide("allow", { redirect_uri: "http://localhost/cb?tenant=1" })
      expect(World.redirectOf(redirected).query).toMatchObject({ tenant: "1", code: expect.any(String) })
    }))

  testing(
    "a forged form grants nothing: no token, another session's token, a foreign origin",
    (world) =>
      Effect.gen(function*() {
        const { hidden } = Browser.formTo("/oauth/authorize", yield* world.browser.get(world.authorizeUrl()))
        const foreign = Browser.formTo("/oauth/authorize", yield* world.platformBrowser.get(world.authorizeUrl()))
        const { csrf: _, ...without } = hidden
        const allow = { decision: "allow" }
        const attempts = [
          world.browser.post("/oauth/authorize", { ...without, ...allow }),
          world.browser.post("/oauth/authorize", { ...hidden, ...allow, csrf: foreign.hidden["csrf"] ?? "" }),
          world.browser.post("/oauth/authorize", { ...hidden, ...allow }, { origin: "https://evil.test" }),
          world.browser.post("/oauth/authorize", { ...hidden, ...allow }, { "sec-fetch-site": "cross-site" })
        ]
        for (const attempt of attempts) {
          const response = yield* attempt
          expect([response.status, response.headers["location"]]).toEqual([403, undefined])
        }
        expect((yield* world.browser.get("/account/applications")).body).toContain("No application has access")
        const genuine = { ...hidden, ...allow }
        expect((yield* world.browser.post("/oauth/authorize", genuine, { origin: "null" })).status).toBe(303)
        expect((yield* world.browser.post("/oauth/authorize", genuine, { origin: "http://127.0.0.1:8080" })).status)
          .toBe(303)
      })
  )

  testing("a tampered form is checked again", (world) =>
    Effect.gen(function*() {
      const { hidden } = Browser.formTo("/oauth/authorize", yield* world.browser.get(world.authorizeUrl()))
      const tampered = { ...hidden, decision: "allow", redirect_uri: "https://evil.test/" }
      expect((yield* world.browser.post("/oauth/authorize", tampered)).status).toBe(400)
    }))

  testing(
    "a session that ended in mid-consent leads to sign in, and the request survives it",
    (world) =>
      Effect.gen(function*() {
        const url = world.authorizeUrl({ state: "s" })
        const { hidden } = Browser.formTo("/oauth/authorize", yield* world.browser.get(url))
        world.browser.cookies.clear()
        const response = yield* world.browser.post("/oauth/authorize", { ...hidden, decision: "allow" })
        expect(World.redirectOf(response)).toEqual({ address: "/login", query: { return_to: url } })
      })
  )

  testing("any other decision is 400", (world) =>
    Effect.gen(function*() {
      for (const decision of ["", "maybe"]) expect((yield* world.decide(decision)).status).toBe(400)
    }))

  testing("consents and refusals are recorded", (world) =>
    Effect.gen(function*() {
      yield* world.decide("allow")
      yield* world.decide("deny")
      const { audit } = yield* Service
      expect(audit.map(({ action }) => action).slice(-2)).toEqual(["consent", "consent_refused"])
      expect(audit.at(-1)).toMatchObject({ actor: { userId: world.athlete.id }, address: "192.0.2.1" })
    }))
})
