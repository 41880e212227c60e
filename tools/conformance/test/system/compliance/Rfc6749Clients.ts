/** RFC 6749: client authentication, and the parameters of the token endpoint. */
import { expect } from "@effect/vitest"
import { expectError } from "./Expectations.ts"
import { basic, callback, type Client, credentials, encode, issuer, type Probe } from "./Probe.ts"
import { deviates, holds, notApplicable, type Requirement } from "./Requirement.ts"

const wrong: Client["client_secret"] = "sl_cs_wrong"

const authentication: ReadonlyArray<Requirement> = [
  holds("2.3", "MUST NOT", "a request uses two ways of authentication", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    const form = { ...credentials(client), grant_type: "authorization_code", code, redirect_uri: callback }
    expectError(await probe.post("/oauth/token", form, basic(client)), 400, "invalid_request")
    const { client_secret: _, ...withoutSecret } = form
    const another = { ...withoutSecret, client_id: "4711" }
    expectError(await probe.post("/oauth/token", another, basic(client)), 400, "invalid_request")
    const answer = await probe.post("/oauth/token", withoutSecret, basic(client))
    expect(answer.status, "an equal client_id is no second way").toBe(200)
  }),
  holds("2.3.1", "MUST", "HTTP Basic is supported, with identifier and secret form-encoded in it", async (probe) => {
    const client = await probe.application()
    const encoded = (text: string) => [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join("")
    const token = Buffer.from(`${client.client_id}:${encoded(client.client_secret)}`).toString("base64")
    for (const headers of [basic(client), { authorization: `bAsIc ${token}` }]) {
      const form = { grant_type: "authorization_code", code: await probe.code(client), redirect_uri: callback }
      expect((await probe.post("/oauth/token", form, headers)).status).toBe(200)
    }
  }),
  deviates(
    "2.3.1",
    "MUST NOT",
    "client credentials in the query are accepted",
    async (probe) => {
      const client = await probe.application()
      const form = { grant_type: "authorization_code", code: await probe.code(client), redirect_uri: callback }
      const path = `/oauth/token?${encode(credentials(client))}`
      expectError(await probe.post(path, form), 400, "invalid_request")
    },
    {
      documented: {
        reason: "the interface documents the parameters of /oauth/* as query parameters (requirements §4)",
        instead: async (probe) => {
          const client = await probe.application()
          const code = await probe.code(client)
          const query = encode({ ...credentials(client), grant_type: "authorization_code", code })
          expect((await probe.post(`/oauth/token?${query}`, {})).status).toBe(200)
        }
      }
    }
  ),
  notApplicable(
    "2.3.2",
    "MUST",
    "other ways of authentication are mapped to clients",
    "only the two ways of §2.3.1 are supported"
  ),
  holds("3.2.1", "MUST", "a client authenticates at the token endpoint", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client)
    for (const client_secret of [undefined, "", wrong]) {
      expectError(await probe.refresh(client, refresh_token, { client_secret }), 401, "invalid_client")
      expectError(await probe.exchange(client, await probe.code(client), { client_secret }), 401, "invalid_client")
    }
  })
]

/** The parameters of a good exchange. */
const exchangeForm = async (probe: Probe): Promise<ReadonlyArray<readonly [string, string]>> => {
  const client = await probe.application()
  const code = await probe.code(client)
  return Object.entries({ ...credentials(client), grant_type: "authorization_code", code, redirect_uri: callback })
}

const endpoint: ReadonlyArray<Requirement> = [
  holds("3.2", "MUST", "the token endpoint accepts only POST", async (probe) => {
    const client = await probe.application()
    const query = encode({ ...credentials(client), grant_type: "authorization_code", code: await probe.code(client) })
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await probe.request(`/oauth/token?${query}`, { method })
      expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "POST"])
    }
  }),
  holds("3.2", "MUST NOT", "the address of the token endpoint has a fragment", async (probe) => {
    expect((await probe.metadata()).body["token_endpoint"]).toBe(`${issuer}/oauth/token`)
  }),
  holds("3.2", "MUST", "a parameter without a value counts as omitted", async (probe) => {
    const client = await probe.application()
    expectError(await probe.exchange(client, ""), 400, "invalid_request")
    expectError(await probe.token(client, { grant_type: "" }), 400, "invalid_request")
    const answer = await probe.exchange(client, await probe.code(client), { code_verifier: "", scope: "" })
    expect(answer.status).toBe(200)
  }),
  holds("3.2", "MUST", "unknown parameters are ignored", async (probe) => {
    const client = await probe.application()
    const answer = await probe.exchange(client, await probe.code(client), { "<b>": "ü", audience: "x", resource: "y" })
    expect(answer.status).toBe(200)
  }),
  holds("3.2", "MUST NOT", "the body repeats a parameter", async (probe) => {
    const form = await exchangeForm(probe)
    for (const [name, value] of form) {
      expectError(await probe.post("/oauth/token", [...form, [name, value]]), 400, "invalid_request")
    }
    expect((await probe.post("/oauth/token", form)).status, "the code is unharmed").toBe(200)
  }),
  deviates(
    "3.2",
    "MUST NOT",
    "a parameter is both in the body and in the query",
    async (probe) => {
      const form = await exchangeForm(probe)
      for (const [name, value] of form) {
        expectError(await probe.post(`/oauth/token?${encode({ [name]: value })}`, form), 400, "invalid_request")
      }
    },
    {
      documented: {
        reason: "equal values in both count once, since some clients send both; different values are refused",
        instead: async (probe) => {
          const form = await exchangeForm(probe)
          for (const [name] of form) {
            expectError(await probe.post(`/oauth/token?${encode({ [name]: "0" })}`, form), 400, "invalid_request")
          }
          const query = encode(Object.fromEntries(form))
          expect((await probe.post(`/oauth/token?${query}`, form)).status).toBe(200)
        }
      }
    }
  )
]

export const requirements: ReadonlyArray<Requirement> = [...authentication, ...endpoint]
