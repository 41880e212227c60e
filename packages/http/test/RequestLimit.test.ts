/** The limit of an application holds for all its requests, and for those of nobody else. */
import { describe, expect } from "@effect/vitest"
import { Application, Applications } from "@startlist/core"
import { Guard, type Http } from "@startlist/http"
import { Clock, Effect, Option, TestClock } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const limit = (client: { readonly client_id: string }, perMinute: Option.Option<number>) =>
  Effect.flatMap(
    Applications.Applications,
    ({ limitRequests }) => limitRequests(Application.ApplicationId.make(Number(client.client_id)), perMinute)
  )

const seen = (response: Http.Response) => [response.status, response.headers["retry-after"], World.json(response)]

const message = "too many requests, try again later"
const oauthError = { error: "temporarily_unavailable", error_description: message }
const apiError = {
  ...oauthError,
  message,
  errors: [{ resource: "Request", field: "", code: "too_many_requests", message }]
}

describe("the limit of an application", () => {
  testing(
    "counts all its requests of a minute together, and answers further ones in the form of the route",
    (world) =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const { access_token, refresh_token } = yield* world.tokens({}, world.platformBrowser)
        yield* limit(world.client, Option.some(3))
        const introspect = () => world.form("/oauth/introspect", { ...world.client, token: access_token })
        const revoke = () => world.form("/oauth/revoke", { ...world.client, token: access_token })
        const subscription = () => send("GET", "/api/v1/webhook_subscription", { headers: World.bearer(access_token) })
        const admitted = [yield* introspect(), yield* world.athleteWith(access_token), yield* subscription()]
        expect(admitted.map(({ status }) => status)).toEqual([200, 403, 404])
        yield* TestClock.adjust("20 seconds")
        expect(seen(yield* world.refresh(refresh_token))).toEqual([429, "40", oauthError])
        expect(seen(yield* introspect())).toEqual([429, "40", oauthError])
        expect(seen(yield* revoke())).toEqual([429, "40", {}])
        expect(seen(yield* subscription())).toEqual([429, "40", apiError])
        const check = yield* Guard.make
        const { refused } = yield* check({ headers: World.bearer(access_token) })
        expect(refused?.status).toBe(429)
        const page = yield* world.platformBrowser.get(`/developer/applications/${world.client.client_id}`)
        expect(String(page.body)).toContain("3 requests per minute")

        yield* TestClock.adjust("40 seconds")
        expect((yield* world.refresh(refresh_token)).status).toBe(200)
      })
  )

  testing(
    "concerns no other application, and is used up by nobody without the secret or a token",
    (world) =>
      Effect.gen(function*() {
        const { refresh_token } = yield* world.tokens()
        const other = yield* world.register("Other")
        yield* limit(world.client, Option.some(1))
        for (let i = 0; i < 5; i++) {
          expect((yield* world.refresh(refresh_token, { client_secret: "wrong" })).status).toBe(401)
          yield* world.athleteWith(`sl_at_${world.client.client_id}_${world.athlete.id}_forged`)
          expect((yield* world.form("/oauth/introspect", { ...other, token: "x" })).status).toBe(200)
        }
        expect((yield* world.refresh(refresh_token)).status).toBe(200)
        expect((yield* world.refresh(refresh_token)).status).toBe(429)
      })
  )

  testing(
    "counts a request once, also if the application is looked for again because of an unknown token",
    (world) =>
      Effect.gen(function*() {
        const { refresh_token } = yield* world.tokens()
        const { client_id } = world.client
        const unknown = refresh_token.replace(`_${client_id}_${world.athlete.id}_`, `_${client_id}_999999_`)
        expect(unknown).not.toBe(refresh_token)
        yield* limit(world.client, Option.some(3))
        expect((yield* world.refresh(refresh_token)).status).toBe(200)
        expect((yield* world.refresh(unknown)).status).toBe(400)
        expect((yield* world.refresh(unknown)).status).toBe(400)
        expect((yield* world.refresh(unknown)).status).toBe(429)
      })
  )

  testing("does not refuse for longer after a clock that was set back", (world) =>
    Effect.gen(function*() {
      const introspect = Effect.suspend(() =>
        Effect.map(world.form("/oauth/introspect", { ...world.client, token: "x" }), ({ status }) => status)
      )
      const start = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("30 minutes")
      yield* limit(world.client, Option.some(1))
      expect([yield* introspect, yield* introspect, yield* introspect]).toEqual([200, 429, 429])
      yield* TestClock.setTime(start)
      expect([yield* introspect, yield* introspect]).toEqual([200, 429])
    }))

  testing("can be raised and removed at any time, and nothing is refused any more", (world) =>
    Effect.gen(function*() {
      const introspect = Effect.suspend(() =>
        Effect.map(world.form("/oauth/introspect", { ...world.client, token: "x" }), ({ status }) => status)
      )
      const statuses = () => Effect.replicateEffect(introspect, 4)
      yield* limit(world.client, Option.some(2))
      expect(yield* statuses()).toEqual([200, 200, 429, 429])
      yield* limit(world.client, Option.some(4))
      expect(yield* statuses()).toEqual([200, 200, 429, 429])
      yield* limit(world.client, Option.none())
      expect(yield* statuses()).toEqual([200, 200, 200, 200])
    }))
})
