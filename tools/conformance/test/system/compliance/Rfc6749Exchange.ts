/** RFC 6749: codes and refresh tokens at the token endpoint. */
import { expect } from "@effect/vitest"
import { expectError } from "./Expectations.ts"
import { callback, callbackWithQuery, type Probe } from "./Probe.ts"
import { deviates, elsewhere, holds, type Requirement } from "./Requirement.ts"

const wrong = "sl_cs_wrong"

/** A client exchanges a code, and again 61 seconds later. Returns the tokens of the first exchange. */
const codeUsedAgain = async (probe: Probe) => {
  const client = await probe.application()
  const code = await probe.code(client)
  const tokens = probe.pair(await probe.exchange(client, code))
  expect((await probe.bearer(tokens.access_token)).status).toBe(200)
  probe.clock.advance(61)
  expectError(await probe.exchange(client, code), 400, "invalid_grant")
  return { client, tokens }
}

const exchange: ReadonlyArray<Requirement> = [
  holds("4.1.2", "MUST", "a code expires within ten minutes", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    const prompt = await probe.code(client)
    probe.clock.advance(60)
    expect((await probe.exchange(client, prompt)).status).toBe(200)
    probe.clock.advance(540)
    expectError(await probe.exchange(client, code), 400, "invalid_grant")
  }),
  holds("4.1.2", "MUST", "a used code is refused", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    expect((await probe.exchange(client, code)).status).toBe(200)
    expectError(await probe.exchange(client, code), 400, "invalid_grant")
  }),
  deviates(
    "4.1.2",
    "SHOULD",
    "the second use of a code (60 seconds or more after the first) revokes the tokens of the first use",
    async (probe) => {
      const { client, tokens } = await codeUsedAgain(probe)
      expect((await probe.bearer(tokens.access_token)).status).toBe(401)
      expect(await probe.isActive(client, tokens.refresh_token)).toBe(false)
    },
    {
      documented: {
        reason: "every client proves a secret, so nobody else can use a code: the second use is only refused",
        instead: async (probe) => {
          const { client, tokens } = await codeUsedAgain(probe)
          expect((await probe.bearer(tokens.access_token)).status).toBe(200)
          expect(await probe.isActive(client, tokens.refresh_token)).toBe(true)
        }
      }
    }
  ),
  holds(
    "4.1.2",
    "SHOULD",
    "a used code that has expired is refused, and revokes nothing",
    async (probe) => {
      const client = await probe.application()
      const code = await probe.code(client)
      const tokens = probe.pair(await probe.exchange(client, code))
      probe.clock.advance(600)
      expectError(await probe.exchange(client, code), 400, "invalid_grant")
      expect((await probe.bearer(tokens.access_token)).status).toBe(200)
    }
  ),
  elsewhere("4.1.2", "SHOULD", "the size of a code is documented", "docs/openapi.json; also of tokens (§4.2.2, §5.1)"),
  holds(
    "4.1.3",
    "MUST",
    "a failed client authentication does not use up the code",
    async (probe) => {
      const client = await probe.application()
      const code = await probe.code(client)
      expectError(await probe.exchange(client, code, { client_secret: wrong }), 401, "invalid_client")
      expect((await probe.exchange(client, code)).status).toBe(200)
    }
  ),
  holds("4.1.3", "MUST", "a code is valid only for its client; another client cannot use it up", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    const code = await probe.code(client)
    expectError(await probe.exchange(other, code), 400, "invalid_grant")
    expect((await probe.exchange(client, code)).status).toBe(200)
    expectError(await probe.exchange(other, code), 400, "invalid_grant")
  }),
  holds("4.1.3", "MUST", "an unknown code is refused", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    for (const bad of [code.slice(0, -1), `${code}A`, code.toLowerCase(), "x"]) {
      expectError(await probe.exchange(client, bad), 400, "invalid_grant")
    }
  }),
  holds("4.1.3", "MUST", "the redirect URI equals the one of the authorization request", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    for (const redirect_uri of [callbackWithQuery, `${callback}/`, "https://evil.test/"]) {
      expectError(await probe.exchange(client, code, { redirect_uri }), 400, "invalid_grant")
    }
    expect((await probe.exchange(client, code)).status).toBe(200)
  }),
  deviates(
    "4.1.3",
    "MUST",
    "the exchange has the redirect URI if the authorization request had one",
    async (probe) => {
      const client = await probe.application()
      const answer = await probe.exchange(client, await probe.code(client), { redirect_uri: undefined })
      expectError(answer, 400, "invalid_request")
    },
    {
      documented: {
        reason: "the interface has no redirect_uri at the exchange (requirements §4.2); if given, it must be equal",
        instead: async (probe) => {
          const client = await probe.application()
          const answer = await probe.exchange(client, await probe.code(client), { redirect_uri: undefined })
          expect(answer.status).toBe(200)
        }
      }
    }
  )
]

const refresh: ReadonlyArray<Requirement> = [
  holds("6", "MUST", "a refresh token is valid only for its client; another client cannot use it up", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    const { refresh_token } = await probe.tokens(client)
    expectError(await probe.refresh(other, refresh_token), 400, "invalid_grant")
    expect((await probe.refresh(client, refresh_token)).status).toBe(200)
  }),
  holds("6", "MUST NOT", "a refresh asks for more scope than was granted", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client, { scope: "read" })
    for (const scope of ["read write", "write", "bogus"]) {
      expectError(await probe.refresh(client, refresh_token, { scope }), 400, "invalid_scope")
    }
    const { access_token } = probe.pair(await probe.refresh(client, refresh_token, { scope: "read" }))
    expect((await probe.introspect(client, access_token)).body["scope"]).toBe("read")
  }),
  holds("6", "MUST", "a new refresh token has the scope of its predecessor", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client, { scope: "read write" })
    const fresh = probe.pair(await probe.refresh(client, refresh_token, { scope: "read" }))
    expect((await probe.introspect(client, fresh.refresh_token)).body["scope"]).toBe("read write")
  })
]

export const requirements: ReadonlyArray<Requirement> = [...exchange, ...refresh]
