/** RFC 8252: native applications, as far as it concerns confidential clients. */
import { expect } from "@effect/vitest"
import { operate } from "@startlist/test-support/Operator"
import { expectError, expectRedirectedError, expectRefusedRedirects } from "./Expectations.ts"
import { asksForConsent, callback, type Probe } from "./Probe.ts"
import { deviates, everywhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const registered = "http://127.0.0.1/app/callback"
const registered6 = "http://[::1]/app/callback"
const onPorts = [49152, 80, 65535].map((port) => `http://127.0.0.1:${port}/app/callback`)

const confidential = "every application has a secret (requirements §2.1): there are no public clients"

const registrationOf = async (probe: Probe, uri: string): Promise<number> => {
  const { id } = await probe.user("platform")
  const body = { name: "Race Day", owner_id: id, redirect_uris: [uri] }
  return (await operate(probe.service, "POST", "/applications", body)).status
}

export const requirements: ReadonlyArray<Requirement> = [
  holds("7.2", "MUST", "https redirect URIs are offered", async (probe) => {
    const page = await probe.ask(await probe.application([callback]))
    expect(asksForConsent(page)).toBe(true)
  }),
  holds("7.3", "MUST", "loopback redirect URIs are offered, for IPv4 and IPv6", async (probe) => {
    const client = await probe.application([registered, registered6])
    for (const redirect_uri of [registered, registered6]) {
      expect(asksForConsent(await probe.ask(client, { redirect_uri })), redirect_uri).toBe(true)
    }
  }),
  holds("7.3", "MUST", "each request may choose the port of a loopback redirect URI", async (probe) => {
    const client = await probe.application([registered, registered6])
    for (const redirect_uri of [...onPorts, "http://[::1]:49152/app/callback"]) {
      expect(asksForConsent(await probe.ask(client, { redirect_uri })), redirect_uri).toBe(true)
    }
    const [redirect_uri = "", other = ""] = onPorts
    const code = await probe.code(client, { redirect_uri })
    expectError(await probe.exchange(client, code, { redirect_uri: other }), 400, "invalid_grant")
    expect((await probe.exchange(client, code, { redirect_uri })).status).toBe(200)
  }),
  holds("8.4", "MUST", "everything except the port is compared, and with https also the port", async (probe) => {
    const client = await probe.application([callback, "http://127.0.0.1/app/callback"])
    const lookalikes = [
      "https://client.example.test:8443/callback",
      "http://127.0.0.1:99999999/app/callback",
      "http://127.0.0.1:1@evil.test/app/callback",
      "http://127.0.0.1.evil.test:80/app/callback"
    ]
    await expectRefusedRedirects(probe, client, lookalikes)
  }),
  deviates(
    "8.4",
    "MUST",
    "unregistered redirect URIs are refused, also on loopback",
    async (probe) => {
      const client = await probe.application([registered])
      const others = ["http://127.0.0.1:49152/other", "http://localhost/app/callback", "http://[::1]/app/callback"]
      await expectRefusedRedirects(probe, client, others)
    },
    {
      documented: {
        reason: "the interface allows localhost and 127.0.0.1 without registration (requirements §4.1)",
        instead: async (probe) => {
          const client = await probe.application([registered])
          const page = await probe.ask(client, { redirect_uri: "http://localhost:49152/other" })
          expect(asksForConsent(page)).toBe(true)
          const secure = await probe.ask(client, { redirect_uri: "https://127.0.0.1:49152/other" })
          expect(asksForConsent(secure)).toBe(true)
        }
      }
    }
  ),
  deviates(
    "7.1",
    "MUST",
    "private-use URI schemes are offered as redirect URIs",
    async (probe) => expect(await registrationOf(probe, "com.example.app:/callback")).toBe(201),
    everywhere({
      reason: `they are for public clients on a phone; ${confidential}`,
      instead: async (probe) => {
        expect(await registrationOf(probe, "com.example.app:/callback")).toBe(422)
        await expectRefusedRedirects(probe, await probe.application(), ["com.example.app:/callback"])
      }
    })
  ),
  holds("8.1", "MUST", "PKCE is supported, and can be required", async (probe) => {
    const client = await probe.application([registered], { require_pkce: true })
    const s256 = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" }
    const redirect_uri = "http://127.0.0.1:49152/app/callback"
    expectRedirectedError(await probe.ask(client, { redirect_uri }), redirect_uri, "invalid_request")
    expect(asksForConsent(await probe.ask(client, { redirect_uri, ...s256 }))).toBe(true)
  }),
  holds("8.6", "SHOULD NOT", "a request is granted without the user, even a repeated one", async (probe) => {
    const client = await probe.application([registered])
    const redirect_uri = registered
    const code = await probe.code(client, { redirect_uri })
    expect((await probe.exchange(client, code, { redirect_uri })).status).toBe(200)
    expect(asksForConsent(await probe.ask(client, { redirect_uri }))).toBe(true)
  }),
  deviates(
    "8.5",
    "SHOULD NOT",
    "a client that cannot protect a secret must use one",
    async (probe) => {
      const client = await probe.application()
      const answer = await probe.exchange(client, await probe.code(client), { client_secret: undefined })
      expect(answer.status).toBe(200)
    },
    everywhere({
      reason: confidential,
      instead: async (probe) => {
        const client = await probe.application()
        const answer = await probe.exchange(client, await probe.code(client), { client_secret: undefined })
        expectError(answer, 401, "invalid_client")
      }
    })
  ),
  notApplicable("8.1", "SHOULD", "native applications without PKCE are rejected", confidential),
  notApplicable("8.4", "MUST", "the type of a client is recorded", confidential),
  notApplicable("8.2", "SHOULD NOT", "native applications use the implicit grant", "it is not offered")
]
