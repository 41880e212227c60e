/** RFC 7662: introspection. */
import { expect } from "@effect/vitest"
import { expectError, expectUncached } from "./Expectations.ts"
import { basic, credentials, encode } from "./Probe.ts"
import { deviates, elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const inactive = "{\"active\":false}"

export const requirements: ReadonlyArray<Requirement> = [
  holds("2.1", "MUST", "introspection requires authorization", async (probe) => {
    const client = await probe.application()
    const { access_token: token } = await probe.tokens(client)
    expectError(await probe.post("/oauth/introspect", { token }), 401, "invalid_client")
    expectError(await probe.introspect({ ...client, client_secret: "wrong" }, token), 401, "invalid_client")
    expect(await probe.isActive(client, token)).toBe(true)
  }),
  holds("2.1", "MUST", "the endpoint accepts a form with a token by POST", async (probe) => {
    const client = await probe.application()
    expectError(await probe.post("/oauth/introspect", credentials(client)), 400, "invalid_request")
    const answer = await probe.request("/oauth/introspect")
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"])
    const json = { "content-type": "application/json" }
    expect((await probe.post("/oauth/introspect", credentials(client), json)).status).toBe(415)
  }),
  holds("2.1", "MUST", "a wrong or unknown hint does not stop the search", async (probe) => {
    const client = await probe.application()
    const { access_token, refresh_token } = await probe.tokens(client)
    for (const token_type_hint of ["refresh_token", "access_token", "pancake"]) {
      for (const token of [access_token, refresh_token]) {
        expect((await probe.introspect(client, token, { token_type_hint })).body["active"]).toBe(true)
      }
    }
  }),
  deviates(
    "2.1",
    "MUST NOT",
    "client credentials in the query are accepted (RFC 6749 §2.3.1)",
    async (probe) => {
      const client = await probe.application()
      expectError(
        await probe.post(`/oauth/introspect?${encode(credentials(client))}`, { token: "x" }),
        400,
        "invalid_request"
      )
    },
    {
      documented: {
        reason: "the interface documents the parameters of /oauth/* as query parameters (requirements §4)",
        instead: async (probe) => {
          const client = await probe.application()
          const answer = await probe.post(`/oauth/introspect?${encode(credentials(client))}`, { token: "x" })
          expect(answer.text).toBe(inactive)
        }
      }
    }
  ),
  holds("2.2", "MUST", "the response is JSON with a Boolean `active`, times in seconds, and strings", async (probe) => {
    const client = await probe.application()
    const { id } = await probe.user("athlete")
    const exchanged = await probe.exchange(client, await probe.code(client))
    const { access_token, refresh_token } = probe.pair(exchanged)
    const answer = await probe.introspect(client, access_token)
    expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/)
    expect(answer.body).toEqual({
      active: true,
      scope: "profile:read read",
      client_id: String(client.client_id),
      sub: String(id),
      iat: exchanged.body["created_at"],
      exp: Number(exchanged.body["created_at"]) + 28800,
      token_type: "Bearer"
    })
    expect((await probe.introspect(client, refresh_token)).body).toMatchObject({ active: true, sub: String(id) })
  }),
  holds("2.2", "SHOULD NOT", "the response about an inactive token has more fields", async (probe) => {
    const client = await probe.application()
    const { access_token } = await probe.tokens(client)
    await probe.revoke(client, access_token)
    for (const token of [access_token, "x", "\"\\é"]) {
      const { status, text } = await probe.introspect(client, token)
      expect([status, text]).toEqual([200, inactive])
    }
  }),
  holds("2.2", "MUST", "a token of another client is inactive", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    const { access_token, refresh_token } = await probe.tokens(client)
    for (const token of [access_token, refresh_token]) {
      expect((await probe.introspect(other, token)).text).toBe(inactive)
    }
    const operator = { authorization: `Bearer ${probe.service.operatorToken}` }
    expect((await probe.post("/oauth/introspect", { token: access_token }, operator)).body["active"]).toBe(true)
  }),
  holds("2.3", "MUST", "a failure of client authentication is 401 as in RFC 6749 §5.2", async (probe) => {
    const headers = basic({ ...await probe.application(), client_secret: "wrong" })
    const answer = await probe.post("/oauth/introspect", { token: "x" }, headers)
    expectError(answer, 401, "invalid_client")
    expect(answer.headers.get("www-authenticate")).toMatch(/^Basic /)
  }),
  holds("2.3", "MUST", "a bearer token without the right to introspect is 401 as in RFC 6750 §3", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    for (const token of ["x", access_token]) {
      const answer = await probe.post("/oauth/introspect", { token: "x" }, { authorization: `Bearer ${token}` })
      expect(answer.status).toBe(401)
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer .*error="invalid_token"/)
    }
  }),
  holds("4", "MUST", "every end of a token is checked: expiry, revocation, replacement", async (probe) => {
    const client = await probe.application()
    const first = await probe.tokens(client)
    const second = probe.pair(await probe.refresh(client, first.refresh_token))
    expect(await probe.isActive(client, first.refresh_token), "replaced").toBe(false)
    expect(await probe.isActive(client, second.refresh_token)).toBe(true)
    expect(await probe.isActive(client, second.access_token)).toBe(true)
    probe.clock.advance(28800)
    expect(await probe.isActive(client, second.access_token), "expired").toBe(false)
    expect(await probe.isActive(client, second.refresh_token)).toBe(true)
    await probe.revoke(client, second.refresh_token)
    expect(await probe.isActive(client, second.refresh_token), "revoked").toBe(false)
  }),
  holds("4", "SHOULD", "responses are not cached if a revocation must take effect immediately", async (probe) => {
    const client = await probe.application()
    expectUncached(await probe.introspect(client, (await probe.tokens(client)).access_token))
  }),
  elsewhere(
    "4",
    "MUST",
    "the endpoint is available only over TLS",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  notApplicable("2.2", "SHOULD", "names of extension fields do not collide", "there are no other fields")
]
