/** RFC 6750: bearer tokens at the resources. */
import { expect } from "@effect/vitest"
import { expectUncached, plainText } from "./Expectations.ts"
import { type Answer, encode, type Probe } from "./Probe.ts"
import { deviates, elsewhere, everywhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const challengeOf = (answer: Answer): string => answer.headers.get("www-authenticate") ?? ""

/** The parameters of a challenge, by name; a repeated one is an error. */
const parametersOf = (answer: Answer): ReadonlyMap<string, string> => {
  expect(challengeOf(answer)).toMatch(/^Bearer /)
  const found = [...challengeOf(answer).matchAll(/([a-z_]+)="([^"]*)"/g)]
  const parameters = new Map(found.map(([, name = "", value = ""]) => [name, value]))
  expect(found.length).toBeGreaterThan(0)
  expect(parameters.size, "no parameter twice").toBe(found.length)
  return parameters
}

/** Answers to refused requests, one for each reason that can be distinguished. */
const refusals = async (probe: Probe): Promise<ReadonlyArray<Answer>> => {
  const { access_token } = await probe.tokens(await probe.application(), { scope: "write" })
  return [await probe.resource({}), await probe.bearer("x"), await probe.bearer(access_token)]
}

const resources = [
  ["GET", "/api/v1/athlete"],
  ["GET", "/api/v1/webhook_subscription"],
  ["POST", "/api/v1/webhook_subscription"],
  ["DELETE", "/api/v1/webhook_subscription"]
] as const

export const requirements: ReadonlyArray<Requirement> = [
  holds(
    "2.1",
    "MUST",
    "a token in the Authorization header is accepted; the scheme is case-insensitive",
    async (probe) => {
      const { access_token } = await probe.tokens(await probe.application())
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        expect((await probe.resource({ authorization: `${scheme} ${access_token}` })).status).toBe(200)
      }
    }
  ),
  holds("2.1", "MUST", "a token with another scheme, or without one, gives no access", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    for (const before of ["", "Basic ", "Token ", "Bearer\t", "Bearer,", "Bearer x "]) {
      expect((await probe.resource({ authorization: before + access_token })).status, before).toBe(401)
    }
  }),
  notApplicable(
    "2.2",
    "MUST NOT",
    "a token in a form body is accepted under wrong conditions",
    "it is never accepted in a body"
  ),
  holds("2.3", "SHOULD NOT", "a token in the query is accepted", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    for (const [method, path] of resources) {
      const answer = await probe.request(`${path}?${encode({ access_token })}`, { method })
      expect(answer.status).toBe(401)
    }
    expect((await probe.bearer(access_token)).status, "the token itself is good").toBe(200)
  }),
  holds("3", "MUST", "the response to a refused request has a Bearer challenge", async (probe) => {
    const tokens = ["x", ""]
    for (const [method, path] of resources) {
      for (const token of tokens) {
        const headers: Record<string, string> = token === "" ? {} : { authorization: `Bearer ${token}` }
        const answer = await probe.request(path, { method, headers })
        expect(answer.status).toBe(401)
        expect(challengeOf(answer)).toMatch(/^Bearer /)
      }
    }
  }),
  holds("3", "MUST", "the challenge has at least one parameter, and none twice", async (probe) => {
    for (const answer of await refusals(probe)) expect(parametersOf(answer).get("realm")).toMatch(/./)
  }),
  holds("3", "SHOULD", "the challenge has an error if a token was presented", async (probe) => {
    for (const token of ["x", "sl_at_1_1_x", "%%%"]) {
      expect(parametersOf(await probe.bearer(token)).get("error")).toBe("invalid_token")
    }
  }),
  holds("3", "SHOULD NOT", "the challenge has an error although no token was presented", async (probe) => {
    const others = [{}, { authorization: "Basic eDp5" }, { authorization: "Digest username=\"x\"" }]
    for (const headers of others) {
      const answer = await probe.resource(headers)
      expect(answer.status).toBe(401)
      expect([...parametersOf(answer).keys()].filter((name) => name.startsWith("error"))).toEqual([])
    }
  }),
  holds("3", "MUST NOT", "errors and descriptions have characters outside the allowed set", async (probe) => {
    for (const answer of [...await refusals(probe), await probe.resource({ authorization: "Bearer \"\\" })]) {
      for (const [, value] of parametersOf(answer)) expect(value).toMatch(plainText)
    }
  }),
  holds("3", "MUST NOT", "a response to a success or to another failure has a challenge", async (probe) => {
    const client = await probe.application()
    const owner = await probe.user("platform")
    const { access_token } = await probe.tokens(client, {}, owner)
    const authorization = `Bearer ${access_token}`
    const answers = [
      await probe.bearer((await probe.tokens(client)).access_token),
      await probe.request("/api/v1/athlete", { method: "POST" }),
      await probe.request("/api/v1/nowhere"),
      await probe.request("/api/v1/webhook_subscription", { headers: { authorization } }),
      await probe.request("/api/v1/webhook_subscription", { method: "POST", headers: { authorization } }),
      await probe.token(client, {}),
      await probe.metadata()
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 405, 404, 404, 415, 400, 200])
    expect(answers.map(({ headers }) => headers.get("www-authenticate"))).toEqual(answers.map(() => null))
  }),
  holds("3.1", "SHOULD", "an expired, revoked or malformed token is 401 `invalid_token`", async (probe) => {
    const client = await probe.application()
    const { access_token: expired } = await probe.tokens(client)
    probe.clock.advance(28800)
    const { access_token: revoked } = await probe.tokens(client)
    expect((await probe.revoke(client, revoked)).status).toBe(200)
    for (const token of [expired, revoked, "x", "%%%", "é"].map((token) => encodeURI(token))) {
      const answer = await probe.bearer(token)
      expect(answer.status).toBe(401)
      expect(parametersOf(answer).get("error")).toBe("invalid_token")
    }
  }),
  holds("3.1", "SHOULD", "a token without the required scope is 403 `insufficient_scope`", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application(), { scope: "write" })
    const answer = await probe.bearer(access_token)
    expect(answer.status).toBe(403)
    expect(parametersOf(answer).get("error")).toBe("insufficient_scope")
  }),
  holds("5.3", "SHOULD", "tokens are limited to a scope", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application(), { scope: "profile:write" })
    expect((await probe.bearer(access_token)).status).toBe(403)
  }),
  deviates(
    "5.3",
    "SHOULD",
    "tokens expire within an hour",
    async (probe) => {
      const client = await probe.application()
      const { body } = await probe.exchange(client, await probe.code(client))
      expect(body["expires_in"]).toBeLessThanOrEqual(3600)
    },
    everywhere({
      reason: "8 hours is the documented lifetime (requirements §8); revoking a grant ends its tokens immediately",
      instead: async (probe) => {
        const client = await probe.application()
        const { body } = await probe.exchange(client, await probe.code(client))
        expect(body["expires_in"]).toBe(28800)
      }
    })
  ),
  holds("5.2", "SHOULD", "a response to a request with a token is not cached", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    for (const answer of [await probe.bearer(access_token), await probe.bearer("x")]) expectUncached(answer)
  }),
  elsewhere("5.2", "MUST", "tokens are sent only over TLS", "the operator's proxy terminates TLS: docs/operating.md"),
  notApplicable(
    "5.2",
    "MUST NOT",
    "tokens are in cookies that are sent without TLS",
    "no cookie contains a token"
  ),
  notApplicable(
    "5.2",
    "SHOULD",
    "a token names its resource servers",
    "there is one resource server, which looks up tokens"
  )
]
