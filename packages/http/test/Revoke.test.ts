import { describe, expect } from "@effect/vitest"
import { Policy } from "@startlist/core"
import type { Http } from "@startlist/http"
import { Effect, FastCheck, Runtime, TestClock } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const isEmptyObject = expect.objectContaining({ status: 200, body: "{}" })

describe("POST /oauth/revoke (requirements §4.4)", () => {
  for (const kind of ["access_token", "refresh_token"] as const) {
    testing(
      `revokes all tokens of the application for the user, with its ${kind}`,
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
    "answers 200 to a token that gives the client no access, and records nothing (RFC 7009 §2.2)",
    (world) =>
      Effect.gen(function*() {
        const { audit } = yield* Service
        const { access_token: token } = yield* world.tokens()
        const other = yield* world.register("Other")
        expect(yield* world.form("/oauth/revoke", { ...world.client, token: "unknown" })).toEqual(isEmptyObject)
        expect(yield* world.form("/oauth/revoke", { ...other, token })).toEqual(isEmptyObject)
        expect(audit.map(({ action }) => action).filter((action) => action.startsWith("revocation"))).toEqual([])
        expect((yield* world.athleteWith(token)).status).toBe(200)
      })
  )

  testing(
    "an unreadable or unauthenticated request also gets {}, but never 200, and is recorded",
    (world) =>
      Effect.gen(function*() {
        const { audit, send } = yield* Service
        const { access_token: token } = yield* world.tokens()
        const json = { "content-type": "application/json" }
        const credentials = new URLSearchParams(world.client).toString()
        const refused: ReadonlyArray<readonly [number, Effect.Effect<Http.Response>]> = [
          [400, world.form("/oauth/revoke", { ...world.client })],
          [400, world.form("/oauth/revoke", { ...world.client, client_id: "1e3", token })],
          [400, world.form(`/oauth/revoke?token=another`, { ...world.client, token })],
          [400, send("POST", `/oauth/revoke?${credentials}&token=${token}&token=${token}`)],
          [400, send("POST", "/oauth/revoke?client_id=%zz")],
          [401, world.form("/oauth/revoke", { ...world.client, client_secret: "wrong", token })],
          [401, world.form("/oauth/revoke", { ...world.client, client_secret: "", token })],
          [401, world.form("/oauth/revoke", { token })],
          [401, world.form("/oauth/revoke", {})],
          [413, send("POST", "/oauth/revoke", { body: "x".repeat(70_000) })],
          [415, send("POST", "/oauth/revoke", { body: JSON.stringify({ ...world.client, token }), headers: json })],
          [415, send("POST", "/oauth/revoke", { body: "{}", headers: json })]
        ]
        for (const [status, attempt] of refused) {
          const before = audit.length
          expect(yield* attempt).toMatchObject({ status, body: "{}" })
          const added = audit.slice(before)
          expect(added.at(-1)).toMatchObject({ action: "revocation_refused", detail: String(status) })
        }
        expect(audit.filter(({ action }) => action === "revocation_refused").slice(0, 2)).toMatchObject([
          { actor: { _tag: "Application", applicationId: Number(world.client.client_id) } },
          { actor: { _tag: "Unknown" } }
        ])
        expect((yield* world.athleteWith(token)).status).toBe(200)
      })
  )

  testing(
    "records a limited number of refused revocations per minute and network",
    (world) =>
      Effect.gen(function*() {
        const { audit, send } = yield* Service
        yield* Effect.replicateEffect(send("POST", "/oauth/revoke"), 100)
        expect(audit.filter(({ action }) => action === "revocation_refused")).toHaveLength(30)
        yield* send("POST", "/oauth/revoke", { address: "192.0.2.2" })
        yield* TestClock.adjust("1 minute")
        yield* world.form("/oauth/revoke", { client_id: world.client.client_id })
        expect(audit.filter(({ action }) => action === "revocation_refused")).toHaveLength(32)
      })
  )

  testing(
    "answers 200 only if the token is revoked, for every form of the request",
    (world) =>
      Effect.gen(function*() {
        const { audit, send } = yield* Service
        const pick = FastCheck.constantFrom
        const place = pick("query", "body", "both", "differs", "nowhere")
        const sendings = FastCheck.record({
          client_id: place,
          client_secret: place,
          token: place,
          basic: pick("none", "right", "wrong"),
          type: pick("application/x-www-form-urlencoded", "application/json", "")
        })
        const runPromise = Runtime.runPromise(yield* Effect.runtime())
        let token = (yield* world.tokens()).access_token
        const property = FastCheck.asyncProperty(sendings, async ({ basic, type, ...places }) => {
          const values = { ...world.client, token }
          const written = (...wanted: ReadonlyArray<string>) =>
            new URLSearchParams(
              Object.entries(values).flatMap(([name, value]) => {
                const at = Reflect.get(places, name)
                return !wanted.includes(at) ? [] : [[name, at === "differs" && wanted[0] === "body" ? "other" : value]]
              })
            ).toString()
          const { client_id, client_secret } = world.client
          const secret = basic === "right" ? client_secret : "wrong"
          const response = await runPromise(
            send("POST", `/oauth/revoke?${written("query", "both", "differs")}`, {
              headers: {
                ...(type === "" ? {} : { "content-type": type }),
                ...(basic === "none" ? {} : { authorization: `Basic ${btoa(`${client_id}:${secret}`)}` })
              },
              body: written("body", "both", "differs"),
              address: `192.0.2.${audit.length % 250}`
            })
          )
          const isAlive = (await runPromise(world.athleteWith(token))).status === 200
          expect(response.body).toBe("{}")
          expect(isAlive).toBe(response.status !== 200)
          expect(audit.at(-1)?.action).toBe(isAlive ? "revocation_refused" : "revocation")
          if (!isAlive) token = (await runPromise(world.tokens())).access_token
        })
        yield* Effect.promise(() => FastCheck.assert(property, { numRuns: 300 }))
      })
  )

  testing("answers 503 with Retry-After and {} while the store is unavailable", (world) =>
    Effect.gen(function*() {
      const { switches } = yield* Service
      const { access_token: token } = yield* world.tokens()
      switches.storeIsDown = true
      const response = yield* world.form("/oauth/revoke", { ...world.client, token })
      expect(response).toMatchObject({ status: 503, body: "{}", headers: { "retry-after": expect.any(String) } })
    }))

  testing("in the strict profile, a wrong client gets invalid_client", (world) =>
    Effect.gen(function*() {
      const wrong = yield* world.form("/oauth/revoke", { ...world.client, client_secret: "wrong", token: "x" })
      expect(wrong.status).toBe(401)
      expect(World.json(wrong)).toMatchObject({ error: "invalid_client" })
      expect(yield* world.form("/oauth/revoke", { ...world.client, token: "unknown" })).toEqual(isEmptyObject)
    }), { policy: Policy.rfc })
})
