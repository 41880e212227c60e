/** RFC 7009: revocation. */
import { expect } from "@effect/vitest"
import { expectError } from "./Expectations.ts"
import { basic, credentials, encode, issuer } from "./Probe.ts"
import { deviates, elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const silent = "the body is an empty JSON object in every case (requirements §4.4, §7); the status is the RFC's"

export const requirements: ReadonlyArray<Requirement> = [
  holds("2", "MUST", "refresh tokens can be revoked", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client)
    expect((await probe.revoke(client, refresh_token)).status).toBe(200)
    expect((await probe.refresh(client, refresh_token)).body["error"]).toBe("invalid_grant")
  }),
  holds("2", "SHOULD", "access tokens can be revoked", async (probe) => {
    const client = await probe.application()
    const { access_token } = await probe.tokens(client)
    expect((await probe.revoke(client, access_token)).status).toBe(200)
    expect((await probe.bearer(access_token)).status).toBe(401)
  }),
  holds("2", "MUST", "the address of the endpoint has no fragment, and it accepts POST", async (probe) => {
    expect((await probe.metadata()).body["revocation_endpoint"]).toBe(`${issuer}/oauth/revoke`)
    const answer = await probe.request("/oauth/revoke")
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"])
  }),
  elsewhere(
    "2",
    "MUST",
    "the endpoint is available only over TLS",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  holds("2.1", "MUST", "both ways of client authentication are supported", async (probe) => {
    const client = await probe.application()
    const [one, other] = [await probe.tokens(client), await probe.tokens(client, {}, await probe.user("organizer"))]
    await probe.post("/oauth/revoke", { token: one.access_token }, basic(client))
    await probe.post("/oauth/revoke", { token: other.access_token, ...credentials(client) })
    expect(await probe.isActive(client, one.refresh_token)).toBe(false)
    expect(await probe.isActive(client, other.refresh_token)).toBe(false)
  }),
  deviates(
    "2.1",
    "MUST",
    "a client that fails to authenticate gets an error",
    async (probe) => {
      const client = await probe.application()
      const { access_token } = await probe.tokens(client)
      expectError(await probe.revoke({ ...client, client_secret: "wrong" }, access_token), 401, "invalid_client")
      expectError(await probe.post("/oauth/revoke", { token: access_token }), 401, "invalid_client")
      expect((await probe.bearer(access_token)).status).toBe(200)
    },
    {
      documented: {
        reason: silent,
        instead: async (probe) => {
          const client = await probe.application()
          const { access_token } = await probe.tokens(client)
          for (const client_secret of ["wrong", ""]) {
            const { status, text } = await probe.revoke({ ...client, client_secret }, access_token)
            expect([status, text]).toEqual([401, "{}"])
          }
          expect((await probe.bearer(access_token)).status).toBe(200)
        }
      }
    }
  ),
  holds("2.1", "MUST", "another client's token is not revoked", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    const { access_token, refresh_token } = await probe.tokens(client)
    await probe.revoke(other, access_token)
    await probe.revoke(other, refresh_token)
    expect((await probe.bearer(access_token)).status).toBe(200)
    expect((await probe.refresh(client, refresh_token)).status).toBe(200)
  }),
  holds("2.1", "MUST", "a revocation takes effect immediately", async (probe) => {
    const client = await probe.application()
    const { access_token, refresh_token } = await probe.tokens(client)
    await probe.revoke(client, access_token)
    const answers = await Promise.all([probe.bearer(access_token), probe.refresh(client, refresh_token)])
    expect(answers.map(({ status }) => status)).toEqual([401, probe.profile === "rfc" ? 400 : 401])
  }),
  holds("2.1", "SHOULD", "revoking a refresh token ends the access tokens of the grant", async (probe) => {
    const client = await probe.application()
    const first = await probe.tokens(client)
    const second = probe.pair(await probe.refresh(client, first.refresh_token))
    await probe.revoke(client, second.refresh_token)
    for (const { access_token } of [first, second]) expect((await probe.bearer(access_token)).status).toBe(401)
  }),
  holds("2.1", "MUST", "a wrong or unknown hint does not stop the search", async (probe) => {
    const client = await probe.application()
    for (const token_type_hint of ["refresh_token", "pancake", "\"\\"]) {
      const { access_token } = await probe.tokens(client)
      await probe.revoke(client, access_token, { token_type_hint })
      expect((await probe.bearer(access_token)).status, token_type_hint).toBe(401)
    }
  }),
  holds("2.2", "MUST", "the response is 200, also for an unknown or revoked token", async (probe) => {
    const client = await probe.application()
    const { access_token } = await probe.tokens(client)
    for (const token of ["x", access_token, access_token]) {
      const { status, text } = await probe.revoke(client, token)
      expect([status, text]).toEqual([200, "{}"])
    }
  }),
  deviates(
    "2.2.1",
    "MUST",
    "errors have the form of RFC 6749 §5.2",
    async (probe) =>
      expectError(await probe.post("/oauth/revoke", credentials(await probe.application())), 400, "invalid_request"),
    {
      documented: {
        reason: silent,
        instead: async (probe) => {
          const { status, text } = await probe.post("/oauth/revoke", credentials(await probe.application()))
          expect([status, text]).toEqual([400, "{}"])
        }
      }
    }
  ),
  deviates(
    "2.1",
    "MUST NOT",
    "client credentials in the query are accepted (RFC 6749 §2.3.1)",
    async (probe) => {
      const client = await probe.application()
      const { access_token } = await probe.tokens(client)
      await probe.post(`/oauth/revoke?${encode({ ...credentials(client), token: access_token })}`, {})
      expect((await probe.bearer(access_token)).status).toBe(200)
    },
    {
      documented: {
        reason: "the interface documents the parameters of /oauth/* as query parameters (requirements §4)",
        instead: async (probe) => {
          const client = await probe.application()
          const { access_token } = await probe.tokens(client)
          await probe.post(`/oauth/revoke?${encode({ ...credentials(client), token: access_token })}`, {})
          expect((await probe.bearer(access_token)).status).toBe(401)
        }
      }
    }
  ),
  elsewhere(
    "2.2.1",
    "MUST",
    "the response is 503 if the token may still be valid",
    "packages/node/test/system/Outage.test.ts"
  ),
  notApplicable(
    "2.3",
    "SHOULD",
    "rules of JSONP",
    "not offered, and there is no CORS: applications send requests from their servers"
  )
]
