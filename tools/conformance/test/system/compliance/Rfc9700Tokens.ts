/** RFC 9700: PKCE, clients and tokens. */
import { expect } from "@effect/vitest"
import { Browser } from "@startlist/test-support/Browser"
import { expectError, expectRedirectedError, expectUncached } from "./Expectations.ts"
import { callback, encode, type Probe } from "./Probe.ts"
import { deviates, elsewhere, everywhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const s256 = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" }
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

const bearer = "tokens are bearer tokens and clients have shared secrets (requirements §2.1, §2.2)"

const proofs: ReadonlyArray<Requirement> = [
  holds("2.1.1", "MUST", "PKCE is supported, and the metadata says so", async (probe) => {
    expect((await probe.metadata()).body["code_challenge_methods_supported"]).toContain("S256")
    const client = await probe.application()
    const code = await probe.code(client, s256)
    expect((await probe.exchange(client, code, { code_verifier: verifier })).status).toBe(200)
  }),
  holds("2.1.1", "MUST", "a challenge is enforced at the exchange", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client, s256)
    expectError(await probe.exchange(client, code), 400, "invalid_grant")
    expectError(await probe.exchange(client, code, { code_verifier: "y".repeat(43) }), 400, "invalid_grant")
    expect((await probe.exchange(client, code, { code_verifier: verifier })).status).toBe(200)
  }),
  holds("4.8.2", "MUST", "a verifier is accepted only for a code with a challenge: no downgrade", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    expectError(await probe.exchange(client, code, { code_verifier: verifier }), 400, "invalid_grant")
    const emptied = await probe.code(client, { code_challenge: "", code_challenge_method: "" })
    expectError(await probe.exchange(client, emptied, { code_verifier: verifier }), 400, "invalid_grant")
    expect((await probe.exchange(client, code)).status).toBe(200)
  }),
  holds("4.4.2", "SHOULD", "clients can recognize the server: `iss` is in every response", async (probe) => {
    const back = await probe.consent(await probe.application())
    expect(back.searchParams.get("iss")).toBe((await probe.metadata()).body["issuer"])
  }),
  holds("4.5.3", "MUST", "a code is refused in a session of another client", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    expectError(await probe.exchange(other, await probe.code(client)), 400, "invalid_grant")
  }),
  notApplicable("2.1.1", "MUST", "public clients use PKCE", "there are none; PKCE can be required of each application"),
  holds("2.1.2", "SHOULD NOT", "the implicit grant is used", async (probe) => {
    const client = await probe.application()
    const page = await probe.ask(client, { response_type: "token" })
    expect(expectRedirectedError(page, callback, "unsupported_response_type").hash).toBe("")
  }),
  holds("2.4", "MUST NOT", "the password grant is used", async (probe) => {
    const { email: username, password } = await probe.user("athlete")
    const answer = await probe.token(await probe.application(), { grant_type: "password", username, password })
    expectError(answer, 400, "unsupported_grant_type")
  }),
  holds("2.5", "SHOULD", "clients are authenticated", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client)
    const answer = await probe.refresh(client, refresh_token, { client_secret: undefined })
    expectError(answer, 401, "invalid_client")
  }),
  deviates(
    "2.5",
    "RECOMMENDED",
    "clients authenticate with keys instead of secrets",
    async (probe) => {
      const methods = (await probe.metadata()).body["token_endpoint_auth_methods_supported"]
      expect(methods).toEqual(expect.arrayContaining([expect.stringMatching(/^(private_key_jwt|.*tls_client_auth)$/)]))
    },
    everywhere({
      reason: bearer,
      instead: async (probe) => {
        const methods = (await probe.metadata()).body["token_endpoint_auth_methods_supported"]
        expect(methods).toEqual(["client_secret_post", "client_secret_basic"])
      }
    })
  )
]

/** Presents a refresh token again, this number of seconds after that of the `second` pair replaced it. */
const replayed = async (probe: Probe, seconds: number) => {
  const client = await probe.application()
  const first = await probe.tokens(client)
  const second = probe.pair(await probe.refresh(client, first.refresh_token))
  if (seconds > 0) probe.clock.advance(seconds)
  expect((await probe.refresh(client, first.refresh_token)).body["error"]).toBe("invalid_grant")
  return { client, second }
}

/** The access token and the refresh token of the `second` pair are accepted. */
const mustBeGood = async (probe: Probe, { client, second }: Awaited<ReturnType<typeof replayed>>) => {
  expect((await probe.bearer(second.access_token)).status).toBe(200)
  expect((await probe.refresh(client, second.refresh_token)).status).toBe(200)
}

const tokens: ReadonlyArray<Requirement> = [
  deviates(
    "2.2.1",
    "SHOULD",
    "access tokens are bound to their sender",
    async (probe) => {
      const client = await probe.application()
      const { body } = await probe.exchange(client, await probe.code(client))
      expect(body["token_type"]).not.toBe("Bearer")
    },
    everywhere({
      reason: bearer,
      instead: async (probe) => {
        const client = await probe.application()
        const { body } = await probe.exchange(client, await probe.code(client))
        expect(body["token_type"]).toBe("Bearer")
      }
    })
  ),
  holds("2.3", "SHOULD", "access tokens give only the access that they need", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application(), { scope: "profile:write" })
    expect((await probe.bearer(access_token)).status).toBe(403)
    const headers = { authorization: `Bearer ${access_token}` }
    expect((await probe.request("/api/v1/webhook_subscription", { headers })).status).toBe(403)
  }),
  holds(
    "4.2.4",
    "SHOULD NOT",
    "pages of the flow load from other sites, link to them, or send a referrer",
    async (probe) => {
      const client = await probe.application()
      const pages = [
        await probe.ask(client),
        await new Browser().open(`${probe.service.url}${probe.authorizePath(client)}`)
      ]
      for (const { headers, html } of pages) {
        expect(headers.get("referrer-policy")).toBe("no-referrer")
        const targets = [...html.matchAll(/\s(?:src|href|action)="([^"]*)"/g)].map(([, target = ""]) => target)
        expect(targets.length).toBeGreaterThan(0)
        for (const target of targets) expect(target).toMatch(/^(\/(?!\/)|#|\?)/)
        expectUncached({ headers })
      }
    }
  ),
  holds("4.3.2", "MUST NOT", "access tokens are passed in the query", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    expect((await probe.resource({}, `?${encode({ access_token })}`)).status).toBe(401)
  }),
  holds("4.3.1", "SHOULD", "a code in a browser history is useless, because it is valid once", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    expect((await probe.exchange(client, code)).status).toBe(200)
    expectError(await probe.exchange(client, code), 400, "invalid_grant")
  }),
  holds("4.14.2", "MUST", "refresh tokens are bound to the scope that the user agreed to", async (probe) => {
    const client = await probe.application()
    const { refresh_token } = await probe.tokens(client, { scope: "read" })
    expectError(await probe.refresh(client, refresh_token, { scope: "read write" }), 400, "invalid_scope")
    const fresh = probe.pair(await probe.refresh(client, refresh_token))
    expect((await probe.introspect(client, fresh.access_token)).body["scope"]).toBe("read")
  }),
  holds(
    "4.14.2",
    "MUST",
    "public clients (and all others): a refresh token is replaced with each use",
    async (probe) => {
      const client = await probe.application()
      const first = await probe.tokens(client)
      const second = probe.pair(await probe.refresh(client, first.refresh_token))
      expect(second.refresh_token).not.toBe(first.refresh_token)
      expect((await probe.refresh(client, first.refresh_token)).body["error"]).toBe("invalid_grant")
    }
  ),
  deviates(
    "4.14.2",
    "MUST",
    "public clients: a replay (60 seconds or more after the refresh) ends the tokens since the authorization",
    async (probe) => {
      const { client, second } = await replayed(probe, 61)
      expect((await probe.bearer(second.access_token)).status).toBe(401)
      expect((await probe.refresh(client, second.refresh_token)).body["error"]).toBe("invalid_grant")
    },
    {
      documented: {
        reason:
          "there are no public clients. A replay is refused, recorded and counted (`REPLAY` in the configuration)",
        instead: async (probe) => mustBeGood(probe, await replayed(probe, 61))
      }
    }
  ),
  deviates(
    "4.14.2",
    "MUST",
    "public clients: every replay ends the tokens since the authorization, however early it is",
    async (probe) => {
      const { second } = await replayed(probe, 0)
      expect((await probe.bearer(second.access_token)).status).toBe(401)
    },
    everywhere({
      reason: "there are no public clients. Within 60 seconds, a replay of the predecessor is a repeated request",
      instead: async (probe) => mustBeGood(probe, await replayed(probe, 0))
    })
  ),
  holds("4.14.2", "SHOULD", "an unused refresh token expires", async (probe) => {
    const client = await probe.application()
    const [idle, used] = [await probe.tokens(client), await probe.tokens(await probe.application())]
    expect(used.refresh_token).not.toBe(idle.refresh_token)
    probe.clock.advance(89 * 86_400)
    expect(await probe.isActive(client, idle.refresh_token)).toBe(true)
    probe.clock.advance(86_400)
    expectError(await probe.refresh(client, idle.refresh_token), 400, "invalid_grant")
  }),
  elsewhere(
    "4.9.2",
    "MUST",
    "stored tokens are protected like other secrets",
    "only hashes are stored: law 10 in docs/security.md"
  ),
  notApplicable(
    "4.10.2",
    "SHOULD",
    "access tokens are restricted to an audience",
    "there is one resource server, which looks up tokens"
  ),
  notApplicable(
    "4.15.1",
    "SHOULD NOT",
    "a client can choose an identifier like that of a user",
    "the store assigns identifiers, and no token belongs to a client"
  )
]

export const requirements: ReadonlyArray<Requirement> = [...proofs, ...tokens]
