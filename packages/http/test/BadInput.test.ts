import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

interface Bad {
  readonly what: string
  readonly method?: string
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Status, and the `error` of RFC 6749 or the `code` of the first error. */
  readonly named: readonly [status: number, code: string]
}

const formType = { "content-type": "application/x-www-form-urlencoded" }
const jsonType = { "content-type": "application/json" }
const lone = "\ud800"

const tokenEndpoint = (
  { client_id, client_secret }: TestWorld["client"]
): ReadonlyArray<Omit<Bad, "target"> & { readonly target?: string }> => {
  const client = `client_id=${client_id}&client_secret=${client_secret}`
  const refresh = `${client}&grant_type=refresh_token&refresh_token=x`
  const form = (what: string, body: string | Uint8Array, named: Bad["named"]) => ({
    what,
    body,
    headers: formType,
    named
  })
  return [
    form("nothing at all", "", [401, "invalid_client"]),
    form("no client_id", "client_secret=x&grant_type=refresh_token&refresh_token=x", [401, "invalid_client"]),
    form("no client_secret", `client_id=${client_id}&grant_type=refresh_token`, [401, "invalid_client"]),
    form("an empty client_secret", `client_id=${client_id}&client_secret=`, [401, "invalid_client"]),
    form("no grant_type", client, [400, "invalid_request"]),
    form("an empty grant_type", `${client}&grant_type=`, [400, "invalid_request"]),
    form("another grant_type", `${client}&grant_type=password`, [400, "unsupported_grant_type"]),
    form("no code", `${client}&grant_type=authorization_code`, [400, "invalid_request"]),
    form("no refresh_token", `${client}&grant_type=refresh_token`, [400, "invalid_request"]),
    form("an unknown code", `${client}&grant_type=authorization_code&code=x`, [400, "invalid_grant"]),
    form("an oversized token", `${refresh}${"x".repeat(60_000)}`, [400, "invalid_grant"]),
    form("client_id in exponent form", "client_id=1e3&client_secret=x", [400, "invalid_request"]),
    form("client_id with a sign", "client_id=%2B1&client_secret=x", [400, "invalid_request"]),
    form("client_id with a leading zero", "client_id=01&client_secret=x", [400, "invalid_request"]),
    form("client_id 0", "client_id=0&client_secret=x", [400, "invalid_request"]),
    form("client_id in Arabic digits", "client_id=%D9%A1&client_secret=x", [400, "invalid_request"]),
    form("client_id 2^53", `client_id=${2 ** 53}&client_secret=x`, [400, "invalid_request"]),
    form("client_id 2^53 - 1", `client_id=${2 ** 53 - 1}&client_secret=x&grant_type=refresh_token&refresh_token=x`, [
      401,
      "invalid_client"
    ]),
    form("a parameter twice in the body", `${refresh}&refresh_token=x`, [400, "invalid_request"]),
    form("a parameter twice, once empty", `&refresh_token=&${refresh}&refresh_token=`, [400, "invalid_grant"]),
    form("an unknown parameter twice", `${refresh}&x=1&x=2`, [400, "invalid_grant"]),
    {
      ...form("two values of a parameter in two places", refresh, [400, "invalid_request"]),
      target: "/oauth/token?refresh_token=y"
    },
    form("a NUL", `${refresh}%00`, [400, "invalid_request"]),
    form("a broken escape", `${refresh}%zz`, [400, "invalid_request"]),
    form("an unfinished escape", `${refresh}%`, [400, "invalid_request"]),
    form("escaped bytes that are no UTF-8", `${refresh}%ff`, [400, "invalid_request"]),
    form("an escaped half of a surrogate pair", `${refresh}%ED%A0%80`, [400, "invalid_request"]),
    form("bytes that are no UTF-8", new Uint8Array([0x61, 0x3d, 0xff, 0xfe]), [400, "invalid_request"]),
    { what: "a broken escape in the query", target: "/oauth/token?code=%f", named: [400, "invalid_request"] },
    { what: "raw bytes in the query", target: "/oauth/token?code=\u00e9", named: [400, "invalid_request"] },
    { what: "JSON", body: JSON.stringify({ client_id }), headers: jsonType, named: [415, "invalid_request"] },
    { what: "a body without a type", body: refresh, named: [400, "invalid_grant"] },
    {
      what: "multipart",
      body: "--x",
      headers: { "content-type": "multipart/form-data" },
      named: [415, "invalid_request"]
    },
    form("64 KiB and a byte", `${refresh}&x=${"y".repeat(65_536)}`, [413, "invalid_request"]),
    { what: "GET", method: "GET", named: [405, "invalid_request"] },
    { what: "an invented method", method: "BREW", named: [405, "invalid_request"] },
    {
      ...form("Basic and parameters", refresh, [400, "invalid_request"]),
      headers: { ...formType, authorization: "Basic MTp4" }
    },
    ...["", "!", "MQ==", "/w==", "JTp4", "OjE="].map((value) => ({
      ...form(`Basic with ${JSON.stringify(value)}`, "grant_type=refresh_token&refresh_token=x", [
        400,
        "invalid_request"
      ]),
      headers: { ...formType, authorization: `Basic ${value}` }
    }))
  ]
}

const subscriptionEndpoint = (token: string): ReadonlyArray<Bad> => {
  const target = "/api/v1/webhook_subscription"
  const headers = { ...jsonType, ...World.bearer(token) }
  const post = (what: string, body: string | Uint8Array, named: Bad["named"]): Bad => ({
    what,
    target,
    headers,
    body,
    named
  })
  const wanted = (subscription: unknown) => JSON.stringify({ webhook_subscription: subscription })
  const url = "https://receiver.test/"
  return [
    post("no body", "", [400, "malformed"]),
    post("broken JSON", "{", [400, "malformed"]),
    post("deep JSON", "[".repeat(60_000), [400, "malformed"]),
    post("JSON that is no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), [400, "malformed"]),
    ...["null", "[]", "7", "\"x\"", "{}"].map((body) => post(`the JSON ${body}`, body, [422, "missing"])),
    ...[null, [], 7, "x"].map((value) =>
      post(`webhook_subscription ${JSON.stringify(value)}`, wanted(value), [422, "invalid"])
    ),
    post("an empty subscription", wanted({}), [422, "missing"]),
    post("no callback_url", wanted({ verify_token: "v" }), [422, "missing"]),
    post("an empty callback_url", wanted({ callback_url: "", verify_token: "v" }), [422, "missing"]),
    post("callback_url null", wanted({ callback_url: null, verify_token: "v" }), [422, "missing"]),
    post("callback_url of the wrong type", wanted({ callback_url: [url], verify_token: "v" }), [422, "invalid"]),
    post("callback_url that is no URL", wanted({ callback_url: "x", verify_token: "v" }), [422, "invalid"]),
    post("callback_url of another scheme", wanted({ callback_url: "ftp://x.test/", verify_token: "v" }), [
      422,
      "invalid"
    ]),
    post("callback_url of 300 characters", wanted({ callback_url: url.padEnd(300, "x"), verify_token: "v" }), [
      422,
      "too_long"
    ]),
    post("callback_url with NUL", wanted({ callback_url: `${url}\0`, verify_token: "v" }), [422, "invalid"]),
    post("callback_url with half a surrogate pair", wanted({ callback_url: url + lone, verify_token: "v" }), [
      422,
      "invalid"
    ]),
    post("no verify_token", wanted({ callback_url: url }), [422, "missing"]),
    post("an empty verify_token", wanted({ callback_url: url, verify_token: "" }), [422, "missing"]),
    post("verify_token of the wrong type", wanted({ callback_url: url, verify_token: 7 }), [422, "invalid"]),
    post("an oversized verify_token", wanted({ callback_url: url, verify_token: "v".repeat(1001) }), [422, "too_long"]),
    post("verify_token with NUL", wanted({ callback_url: url, verify_token: "\0" }), [422, "invalid"]),
    post("64 KiB and a byte", " ".repeat(65_537), [413, "too_large"]),
    {
      ...post("a form", "callback_url=x", [415, "unsupported_media_type"]),
      headers: { ...formType, ...World.bearer(token) }
    },
    { ...post("no type", "{}", [415, "unsupported_media_type"]), headers: World.bearer(token) },
    { what: "PUT", method: "PUT", target, headers, named: [405, "method_not_allowed"] },
    { what: "a broken query", method: "DELETE", target: `${target}?id=%`, headers, named: [400, "malformed"] },
    { what: "id twice", method: "DELETE", target: `${target}?id=1&id=1`, headers, named: [400, "repeated"] },
    {
      what: "a JSON body",
      method: "DELETE",
      target,
      headers,
      body: "{\"id\":1}",
      named: [415, "unsupported_media_type"]
    }
  ]
}

const nameOf = (response: { readonly body: string | Uint8Array }): string | undefined =>
  /"(?:error|code)":"([^"]*)"/.exec(String(response.body))?.[1]

const check = (bad: Bad) =>
  Effect.gen(function*() {
    const { send } = yield* Service
    const response = yield* send(bad.method ?? "POST", bad.target, bad)
    expect([bad.what, response.status, nameOf(response)]).toEqual([bad.what, ...bad.named])
    expect(response.headers["content-type"]).toMatch(/^application\/json/)
    const { error_description, message } = JSON.parse(String(response.body))
    if (bad.target.startsWith("/api/")) expect([bad.what, error_description]).toEqual([bad.what, message])
    if (response.status === 405) expect(response.headers["allow"]).toMatch(/^[A-Z, ]+$/)
  })

describe("bad input gets its specified response", () => {
  testing(
    "POST /oauth/token",
    (world) => Effect.forEach(tokenEndpoint(world.client), (bad) => check({ target: "/oauth/token", ...bad }))
  )

  testing("/api/v1/webhook_subscription", (world) =>
    Effect.gen(function*() {
      const { access_token } = yield* world.tokens({}, world.platformBrowser)
      yield* Effect.forEach(subscriptionEndpoint(access_token), check)
      const { validations } = yield* Service
      expect(validations).toHaveLength(0)
    }))

  testing("pages", (world) =>
    Effect.gen(function*() {
      const bad: ReadonlyArray<readonly [string, string, number]> = [
        ["GET", "/nowhere", 404],
        ["GET", "/oauth", 404],
        ["GET", "/%", 404],
        ["GET", "*", 404],
        ["GET", "/__proto__", 404],
        ["DELETE", "/oauth/authorize", 405],
        ["GET", "/oauth/authorize", 400],
        ["GET", "/oauth/authorize?client_id=%", 400],
        ["GET", "/oauth/authorize?client_id=%00", 400],
        ["GET", "/oauth/authorize?client_id=1e3", 400],
        ["GET", "/login?return_to=%ff", 400],
        ["GET", "/login?return_to=%00", 400],
        ["GET", "/logout", 405],
        ["GET", "/language", 400],
        ["GET", "/language?locale=de", 400],
        ["GET", "/account/applications/1/revoke", 405]
      ]
      for (const [method, target, status] of bad) {
        const { send } = yield* Service
        const response = yield* send(method, target)
        expect([target, response.status]).toEqual([target, status])
        expect(response.headers["content-type"]).toMatch(/^text\/html/)
      }
      const state = yield* world.browser.get(world.authorizeUrl({ state: "\0" }))
      expect(World.redirectOf(state).query["error"]).toBe("invalid_request")
      expect((yield* world.browser.get(world.authorizeUrl({ state: lone }))).status).toBeLessThan(400)
    }))

  testing("unknown paths below /api and /oauth get JSON", () =>
    Effect.gen(function*() {
      yield* check({ what: "a trailing slash", target: "/oauth/token/", named: [404, "invalid_request"] })
      yield* check({ what: "another version", target: "/api/v2/athlete", method: "GET", named: [404, "not_found"] })
    }))
})
