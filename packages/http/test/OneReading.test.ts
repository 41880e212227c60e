/** A parameter has one meaning, independent of the place and number of its values. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const formType = { "content-type": "application/x-www-form-urlencoded" }
const encode = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })

describe("a parameter in query and body", () => {
  testing("counts once if the values are equal, at every endpoint of a client", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const twice = (path: string, fields: Readonly<Record<string, string>>) => {
        const both = encode({ ...world.client, ...fields })
        return send("POST", `${path}?${both}`, { headers: formType, body: both })
      }
      const code = yield* world.codeOf()
      const exchanged = yield* twice("/oauth/token", { grant_type: "authorization_code", code })
      const { refresh_token } = World.tokensOf(exchanged)
      const refreshed = World.tokensOf(yield* twice("/oauth/token", { grant_type: "refresh_token", refresh_token }))
      const token = refreshed.access_token
      expect(World.json(yield* twice("/oauth/introspect", { token }))).toMatchObject({ active: true })
      expect((yield* twice("/oauth/revoke", { token })).status).toBe(200)
      expect((yield* world.athleteWith(token)).status).toBe(401)
    }))

  testing("is invalid_request if the values differ, and the message names it", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const response = yield* send("POST", "/oauth/token?refresh_token=another", {
        headers: formType,
        body: encode({ ...world.client, grant_type: "refresh_token", refresh_token: "x" })
      })
      expect(response.status).toBe(400)
      expect(World.json(response)).toEqual({
        error: "invalid_request",
        error_description: "refresh_token has different values in two places. Send it once."
      })
    }))

  testing(
    "is invalid_request if it appears twice in one place, equal or not, and the message names it",
    (world) =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const once = encode({ ...world.client, grant_type: "refresh_token", refresh_token: "x" })
        const requests = [
          send("POST", `/oauth/token?${once}&refresh_token=x`),
          send("POST", "/oauth/token", { headers: formType, body: `${once}&refresh_token=x` }),
          send("POST", `/oauth/token?${once}`, { headers: formType, body: "refresh_token=x&refresh_token=x" })
        ]
        for (const request of requests) {
          const response = yield* request
          expect(response.status).toBe(400)
          expect(World.json(response)).toEqual({
            error: "invalid_request",
            error_description: "refresh_token appears more than once. Send it once."
          })
        }
      })
  )
})

describe("a parameter without a value", () => {
  testing(
    "counts as omitted, in either place, also beside the same parameter with a value",
    (world) =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const client = encode(world.client)
        const { access_token: token } = yield* world.tokens()
        for (
          const [query, form] of [
            ["token=", `token=${token}`],
            [`token=${token}`, "token="],
            [`token=&token=${token}&token`, ""],
            ["", `token=${token}&token=&token=`],
            ["token=&token=", `token&token=${token}`]
          ]
        ) {
          const response = yield* send("POST", `/oauth/introspect?${query}`, {
            headers: formType,
            body: `${client}&${form}`
          })
          expect([query, form, World.json(response)]).toMatchObject([query, form, { active: true }])
        }
        const none = yield* send("POST", "/oauth/introspect?token=&token=", {
          headers: formType,
          body: `${client}&token`
        })
        expect(World.json(none)).toEqual({ error: "invalid_request", error_description: "token is missing" })
        const two = `token=&token=${token}&token=&token=${token}`
        const repeated = yield* send("POST", "/oauth/introspect", { headers: formType, body: `${client}&${two}` })
        expect(repeated.status).toBe(400)
      })
  )
})

describe("a body without a media type", () => {
  testing("is a form, but JSON is refused and does nothing", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token, refresh_token } = yield* world.tokens({}, world.platformBrowser)
      const fields = { ...world.client, grant_type: "refresh_token", refresh_token }
      const wanted = { webhook_subscription: { callback_url: "https://receiver.test/", verify_token: "v" } }
      const headers = { "content-type": "application/json", ...World.bearer(access_token) }
      expect((yield* send("POST", "/api/v1/webhook_subscription", { headers, body: JSON.stringify(wanted) })).status)
        .toBe(201)
      for (const json of ["{\"id\":4711}", " [{}]", "\uFEFF\n{"]) {
        const bearer = { headers: World.bearer(access_token), body: json }
        expect((yield* send("DELETE", "/api/v1/webhook_subscription", bearer)).status).toBe(415)
        expect((yield* send("POST", `/oauth/token?${encode(fields)}`, { body: json })).status).toBe(415)
      }
      expect((yield* send("GET", "/api/v1/webhook_subscription", { headers: World.bearer(access_token) })).status)
        .toBe(200)
      const other = { headers: World.bearer(access_token), body: "id=4711" }
      expect((yield* send("DELETE", "/api/v1/webhook_subscription", other)).status).toBe(404)
      expect((yield* send("POST", "/oauth/token", { body: encode(fields) })).status).toBe(200)
    }))
})

describe("a parameter that no endpoint knows", () => {
  testing("may repeat, whatever its name", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      for (const unknown of ["resource=a&resource=b", "=1&=2", "%00=1&%00=2", "toString=1&toString=2"]) {
        const { refresh_token } = yield* world.tokens()
        const form = encode({ ...world.client, grant_type: "refresh_token", refresh_token })
        const response = yield* send("POST", `/oauth/token?${unknown}`, {
          headers: formType,
          body: `${unknown}&${form}`
        })
        expect([unknown, response.status]).toEqual([unknown, 200])
      }
    }))
})

describe("a blank body beside a query", () => {
  testing("is ignored, with any media type", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", undefined]) {
        for (const body of ["", "{}"]) {
          const { refresh_token } = yield* world.tokens()
          const query = encode({ ...world.client, grant_type: "refresh_token", refresh_token })
          const headers = type === undefined ? {} : { "content-type": type }
          const response = yield* send("POST", `/oauth/token?${query}`, { headers, body })
          expect([type, body, response.status]).toEqual([type, body, 200])
        }
      }
    }))

  testing(
    "is checked for its media type if there is no query, or if it is not blank",
    (world) =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const headers = { "content-type": "application/json" }
        const query = encode({ ...world.client, grant_type: "refresh_token", refresh_token: "x" })
        expect((yield* send("POST", "/oauth/token", { headers, body: "{}" })).status).toBe(415)
        expect((yield* send("POST", `/oauth/token?${query}`, { headers, body: "{\"a\":1}" })).status).toBe(415)
      })
  )

  testing("does not prevent the deletion of a subscription", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token } = yield* world.tokens({}, world.platformBrowser)
      const headers = { "content-type": "application/json", ...World.bearer(access_token) }
      const wanted = { webhook_subscription: { callback_url: "https://receiver.test/", verify_token: "v" } }
      const created = yield* send("POST", "/api/v1/webhook_subscription", { headers, body: JSON.stringify(wanted) })
      expect(created.status).toBe(201)
      expect((yield* send("DELETE", "/api/v1/webhook_subscription", { headers, body: "{}" })).status).toBe(204)
    }))
})

describe("HTTP Basic", () => {
  testing(
    "is accepted with an equal client_id in query or body",
    (world) =>
      Effect.gen(function*() {
        const { client_id, client_secret } = world.client
        const headers = basic(client_id, client_secret)
        const refresh = (refresh_token: string) => ({ grant_type: "refresh_token", refresh_token })
        const first = yield* world.tokens()
        const second = yield* world.form("/oauth/token", { client_id, ...refresh(first.refresh_token) }, headers)
        const third = yield* world.form(
          `/oauth/token?client_id=${client_id}`,
          refresh(World.tokensOf(second).refresh_token),
          headers
        )
        expect(third.status).toBe(200)
      })
  )

  testing(
    "is refused with another client_id or a second secret, and the message names it",
    (world) =>
      Effect.gen(function*() {
        const { client_id, client_secret } = world.client
        const beside = [{ client_id: "4711" }, { client_secret }, { client_secret: "another" }]
        for (const fields of beside) {
          const { refresh_token } = yield* world.tokens()
          const refresh = { grant_type: "refresh_token", refresh_token }
          const response = yield* world.form("/oauth/token", { ...refresh, ...fields }, basic(client_id, client_secret))
          expect([fields, response.status]).toEqual([fields, 400])
          const [name = ""] = Object.keys(fields)
          const description = expect.stringMatching(new RegExp(`^${name} `))
          expect(World.json(response)).toEqual({ error: "invalid_request", error_description: description })
          expect((yield* world.refresh(refresh_token)).status).toBe(200)
        }
      })
  )
})
