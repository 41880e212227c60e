import { describe, expect } from "@effect/vitest"
import { Grant } from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import { Effect, Option } from "effect"
import * as Browser from "./support/Browser.ts"
import { Service } from "./support/Service.ts"
import { testing } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const path = "/account/applications"

describe("/account/applications", () => {
  testing(
    "lists what the user has authorised, with scopes and date, and nobody else's",
    (world) =>
      Effect.gen(function*() {
        yield* world.tokens({ scope: "profile:read" })
        const page = yield* world.browser.get(path)
        for (const text of ["Race Planner", "see your profile", "1 January 1970"]) expect(page.body).toContain(text)
        expect((yield* world.platformBrowser.get(path)).body).not.toContain("Race Planner")
      })
  )

  testing(
    "revoking takes the application off the list and ends its tokens immediately (requirements §3.2)",
    (world) =>
      Effect.gen(function*() {
        const { access_token, refresh_token } = yield* world.tokens()
        const form = Browser.formTo(`${path}/${world.client.client_id}/revoke`, yield* world.browser.get(path))
        const response = yield* world.browser.post(form.action, form.hidden)
        expect(response).toMatchObject({
          status: 303,
          headers: { location: expect.stringContaining(`${path}?notice=revoked&about=Race%20Planner&`) }
        })
        expect((yield* world.browser.get(path)).body).not.toContain("Race Planner")
        expect((yield* world.athleteWith(access_token)).status).toBe(401)
        expect((yield* world.refresh(refresh_token)).status).toBe(401)
        const { audit } = yield* Service
        expect(audit.some(({ action, actor }) => action === "revocation" && actor._tag === "User")).toBe(true)
      })
  )

  testing("a forged form revokes nothing", (world) =>
    Effect.gen(function*() {
      const { access_token } = yield* world.tokens()
      const action = `${path}/${world.client.client_id}/revoke`
      const { hidden } = Browser.formTo(action, yield* world.browser.get(path))
      const foreign = Browser.formTo("/logout", yield* world.platformBrowser.get(path)).hidden
      const attempts = [
        world.browser.post(action, {}),
        world.browser.post(action, { csrf: foreign["csrf"] ?? "" }),
        world.browser.post(action, hidden, { origin: "https://evil.test" })
      ]
      for (const attempt of attempts) expect((yield* attempt).status).toBe(403)
      const grants = yield* Grant.GrantStore
      const found = yield* grants.find(ApplicationId.make(Number(world.client.client_id)), world.athlete.id)
      expect(Option.map(found, ({ grant }) => grant.status)).toEqual(Option.some("active"))
      expect((yield* world.athleteWith(access_token)).status).toBe(200)
    }))

  testing(
    "an application without access leads to the list, as after a form that is sent twice; no application is 404",
    (world) =>
      Effect.gen(function*() {
        const { hidden } = Browser.formTo("/logout", yield* world.browser.get(path))
        for (const [id, status] of [["999", 303], ["1e3", 404], ["x", 404], ["%00", 404]] as const) {
          expect((yield* world.browser.post(`${path}/${id}/revoke`, hidden)).status).toBe(status)
        }
      })
  )

  testing("someone who is not signed in is sent to sign in", () =>
    Effect.gen(function*() {
      const stranger = yield* Browser.make
      expect(World.redirectOf(yield* stranger.get(path))).toEqual({ address: "/login", query: { return_to: path } })
    }))
})
