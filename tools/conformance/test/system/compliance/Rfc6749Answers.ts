/** RFC 6749: the answers of the token endpoint. */
import { expect } from "@effect/vitest"
import { expectError, expectUncached, plainText } from "./Expectations.ts"
import { type Answer, basic, type Probe } from "./Probe.ts"
import { deviates, everywhere, holds, type Requirement } from "./Requirement.ts"

const wrong = "sl_cs_wrong"

/** Answers of the token endpoint to one request for each error. */
const refusals = async (probe: Probe): Promise<ReadonlyArray<Answer>> => {
  const client = await probe.application()
  return [
    await probe.token(client, {}),
    await probe.token(client, { grant_type: "\"\\é" }),
    await probe.exchange(client, "\"\\é"),
    await probe.refresh(client, "\"\\é"),
    await probe.token(client, { client_id: "\"\\é" }),
    await probe.token(client, { client_secret: "\"\\é" }),
    await probe.post("/oauth/token", [["\"\\é", "1"], ["\"\\é", "2"]]),
    await probe.post("/oauth/token", {}, { authorization: "Basic \"" }),
    await probe.post("/oauth/token", {}, { "content-type": "text/plain" }),
    await probe.request("/oauth/token"),
    await probe.post("/oauth/nowhere", {})
  ]
}

/** Answers to requests of clients that do not authenticate with the form. */
const unauthenticated = async (probe: Probe): Promise<ReadonlyArray<Answer>> => {
  const client = await probe.application()
  return [
    await probe.refresh(client, "x", { client_secret: wrong }),
    await probe.refresh(client, "x", { client_secret: undefined }),
    await probe.exchange(client, "x", { client_id: undefined })
  ]
}

const response: ReadonlyArray<Requirement> = [
  holds("5.1", "MUST", "a token response is JSON with status 200, `access_token` and `token_type`", async (probe) => {
    const client = await probe.application()
    const answer = await probe.exchange(client, await probe.code(client))
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/)
    expect(answer.body).toMatchObject({ token_type: "Bearer", access_token: expect.stringMatching(/./) })
  }),
  holds("5.1", "RECOMMENDED", "the response has the lifetime of the access token, and it is correct", async (probe) => {
    const client = await probe.application()
    const answer = await probe.exchange(client, await probe.code(client))
    expect(answer.body["expires_in"]).toBe(28800)
    const { access_token } = probe.pair(answer)
    probe.clock.advance(28740)
    expect((await probe.bearer(access_token)).status).toBe(200)
    probe.clock.advance(60)
    expect((await probe.bearer(access_token)).status).toBe(401)
  }),
  holds("5.1", "MUST", "the response names the scope if it differs from the requested one", async (probe) => {
    const client = await probe.application()
    const exchanged = await probe.exchange(client, await probe.code(client, { scope: "read  write read" }))
    expect(exchanged.body["scope"]).toBe("read write")
    const { refresh_token } = probe.pair(exchanged)
    expect((await probe.refresh(client, refresh_token, { scope: "read" })).body["scope"]).toBe("read write")
  }),
  holds("5.1", "MUST", "a token response has `no-store` and `no-cache`", async (probe) => {
    const client = await probe.application()
    const exchanged = await probe.exchange(client, await probe.code(client))
    const refreshed = await probe.refresh(client, probe.pair(exchanged).refresh_token)
    for (const answer of [exchanged, refreshed]) {
      expect(answer.status).toBe(200)
      expectUncached(answer)
      expect(answer.headers.get("pragma")).toBe("no-cache")
    }
  }),
  holds("5.2", "MUST", "errors are JSON with `error`; the status is 400 unless specified otherwise", async (probe) => {
    for (const answer of await refusals(probe)) {
      expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/)
      expect(answer.body["error"]).toMatch(/^[a-z_]+$/)
      expect([400, 401, 404, 405, 415]).toContain(answer.status)
    }
  }),
  holds("5.2", "MUST NOT", "`error` and `error_description` have characters outside the allowed set", async (probe) => {
    for (const { body } of await refusals(probe)) {
      expect(body["error"]).toMatch(plainText)
      expect(body["error_description"]).toMatch(plainText)
    }
  }),
  holds("5.2", "MUST", "a failure of Basic is 401 with a Basic challenge", async (probe) => {
    const client = await probe.application()
    const headers = basic({ ...client, client_secret: wrong })
    for (const path of ["/oauth/token", "/oauth/introspect"]) {
      const answer = await probe.post(path, { grant_type: "refresh_token", refresh_token: "x", token: "x" }, headers)
      expectError(answer, 401, "invalid_client")
      expect(answer.headers.get("www-authenticate")).toMatch(/^Basic realm="/)
    }
  }),
  holds("5.2", "MUST", "an unsupported grant type is `unsupported_grant_type`", async (probe) => {
    const client = await probe.application()
    const types = [
      "password",
      "client_credentials",
      "implicit",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
      "Refresh_token"
    ]
    for (const grant_type of types) {
      const form = { grant_type, username: "u", password: "p", scope: "read" }
      expectError(await probe.token(client, form), 400, "unsupported_grant_type")
    }
  }),
  deviates(
    "5.2",
    "MUST",
    "a grant that is invalid, expired, revoked or another client's is 400 `invalid_grant`",
    async (probe) => {
      const [client, other] = [await probe.application(), await probe.application()]
      const { access_token, refresh_token } = await probe.tokens(client)
      expectError(await probe.refresh(client, "x"), 400, "invalid_grant")
      expectError(await probe.refresh(client, access_token), 400, "invalid_grant")
      expectError(await probe.refresh(other, refresh_token), 400, "invalid_grant")
      expect((await probe.refresh(client, refresh_token)).status).toBe(200)
      expectError(await probe.refresh(client, refresh_token), 400, "invalid_grant")
    },
    {
      documented: {
        reason: "a request with a replaced or revoked token is 401 (requirements §7); the error code is the same",
        instead: async (probe) => {
          const client = await probe.application()
          const { refresh_token } = await probe.tokens(client)
          const fresh = probe.pair(await probe.refresh(client, refresh_token))
          const replaced = await probe.refresh(client, refresh_token)
          expectError(replaced, 401, "invalid_grant")
          expect(replaced.headers.get("www-authenticate")).toBeNull()
          expect((await probe.revoke(client, fresh.access_token)).status).toBe(200)
          expectError(await probe.refresh(client, fresh.refresh_token), 401, "invalid_grant")
          expectError(await probe.refresh(client, "x"), 400, "invalid_grant")
        }
      }
    }
  ),
  deviates(
    "RFC 9110 §15.5.2",
    "MUST",
    "an answer with 401 has a challenge",
    async (probe) => {
      for (const answer of await unauthenticated(probe)) {
        expect(answer.headers.get("www-authenticate")).not.toBeNull()
      }
    },
    everywhere({
      reason: "RFC 6749 §5.2 asks for it after Basic only, and client libraries drop the error code where there is one",
      instead: async (probe) => {
        for (const answer of await unauthenticated(probe)) {
          expectError(answer, 401, "invalid_client")
          expect(answer.headers.get("www-authenticate")).toBeNull()
        }
      }
    })
  )
]

export const requirements: ReadonlyArray<Requirement> = [...response]
