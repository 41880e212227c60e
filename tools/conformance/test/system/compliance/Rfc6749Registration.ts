/** RFC 6749: applications and their redirect URIs. */
import { expect } from "@effect/vitest"
import { operate } from "@startlist/test-support/Operator"
import { expectRefusedRedirects, expectShown } from "./Expectations.ts"
import { asksForConsent, callback, callbackWithQuery, type Changes, loopbackCallback, type Probe } from "./Probe.ts"
import { deviates, each, elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const register = async (probe: Probe, uri: string): Promise<number> => {
  const { id } = await probe.user("platform")
  const body = { name: "Race Day", owner_id: id, redirect_uris: [uri] }
  probe.note("/operator/v1/applications", { body: uri })
  return (await operate(probe.service, "POST", "/applications", body)).status
}

const registration: ReadonlyArray<Requirement> = [
  elsewhere(
    "1.6",
    "MUST",
    "TLS protects every endpoint to which credentials, codes or tokens are sent (also §2.3.1, §3.1, §3.2, §10.3 to §10.9)",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  holds(
    "2.2",
    "MUST NOT",
    "a client identifier alone does not authenticate",
    each([undefined, "", " "], async (probe, client_secret) => {
      const client = await probe.application()
      const answer = await probe.exchange(client, await probe.code(client), { client_secret })
      expect([answer.status, answer.body["error"]]).toEqual([401, "invalid_client"])
    })
  ),
  elsewhere("2.2", "SHOULD", "the size of a client identifier is documented", "docs/reference.md: below 2^53"),
  notApplicable(
    "2.1",
    "MUST",
    "clients are distinguished by type, public or confidential",
    "every application has a secret and uses it (requirements §2.1, §4.2): all clients are confidential"
  ),
  holds("3.1.2", "MUST", "a redirect URI is absolute", async (probe) => {
    for (const uri of ["/callback", "client.example.test/callback", "//client.example.test/"]) {
      expect(await register(probe, uri), uri).toBe(422)
    }
    expect(await register(probe, "https://client.example.test/callback")).toBe(201)
  }),
  holds("3.1.2", "MUST NOT", "a redirect URI has a fragment", async (probe) => {
    for (const fragment of ["#top", "#", "?a=b#c=d", "#?a=b"]) {
      expect(await register(probe, callback + fragment), fragment).toBe(422)
      const client = await probe.application()
      await expectRefusedRedirects(probe, client, [callback + fragment, loopbackCallback + fragment])
    }
  }),
  holds(
    "3.1.2",
    "MUST",
    "the query of a redirect URI is retained when parameters are added",
    each(
      [callbackWithQuery, `${callback}?a=b&a=c`, `${callback}?%C3%A9=%20+&codes`, `${callback}?`],
      async (probe, uri) => {
        const back = await probe.consent(await probe.application([uri]), { redirect_uri: uri, state: "s" })
        expect(back.href.startsWith(uri)).toBe(true)
        const before = [...new URL(uri).searchParams]
        expect([...back.searchParams].slice(0, before.length)).toEqual(before)
        expect(back.searchParams.getAll("code")).toHaveLength(1)
      }
    )
  ),
  holds(
    "3.1.2.1",
    "SHOULD",
    "redirect URIs use TLS, except on the machine of the user",
    each(
      [
        "http://client.example.test/callback",
        "http://192.168.0.1/",
        "http://localhost.example.test:80/",
        "ftp://a.test/"
      ],
      async (probe, uri) => expect(await register(probe, uri), uri).toBe(422)
    )
  ),
  deviates(
    "3.1.2.2",
    "SHOULD",
    "a client registers its redirect URIs before it may use the authorization endpoint",
    async (probe) => expectRefusedRedirects(probe, await probe.application([]), [loopbackCallback, callback]),
    {
      documented: {
        reason: "the interface allows localhost and 127.0.0.1 (requirements §4.1); everything else is registered",
        instead: async (probe) => {
          const client = await probe.application([])
          expect(asksForConsent(await probe.ask(client, { redirect_uri: loopbackCallback }))).toBe(true)
          await expectRefusedRedirects(probe, client, [callback])
        }
      }
    }
  ),
  holds(
    "3.1.2.3",
    "MUST",
    "a request without redirect URI is refused if several are registered",
    each(
      [undefined, "", " "],
      async (probe, redirect_uri) => expectShown(await probe.ask(await probe.application(), { redirect_uri }))
    )
  ),
  holds(
    "3.1.2.3",
    "MUST",
    "the redirect URI equals a registered one, compared as a string",
    async (probe) =>
      expectRefusedRedirects(probe, await probe.application(), [
        `${callback}/`,
        `${callback}?`,
        `${callback}?x=1`,
        `${callback}/more`,
        callback.toUpperCase(),
        callback.replace("https://client", "https://Client"),
        callback.replace("example.test/", "example.test:443/"),
        callback.replace("callback", "%63allback"),
        callback.replace("callback", "./callback"),
        callback.slice(0, -1)
      ])
  ),
  holds(
    "3.1.2.3",
    "MUST",
    "lookalike hosts and user info are no match",
    async (probe) =>
      expectRefusedRedirects(probe, await probe.application(), [
        "https://client.example.test.evil.test/callback",
        "https://client.example.test@evil.test/callback",
        "https://evil.test/callback?https://client.example.test/callback",
        "https://client.example.test\\@evil.test/callback",
        "http://localhost.evil.test/callback",
        "http://localhost@evil.test/callback",
        "http://127.0.0.1@evil.test/callback",
        "http://127.0.0.1.evil.test/callback",
        "http://user:pass@127.0.0.1:7999/callback",
        "http://127.0.0.2:7999/callback",
        "http://[::2]:7999/callback",
        "http://0x7f.1/callback",
        "javascript:alert(1)"
      ])
  ),
  holds(
    "3.1.2.4",
    "MUST NOT",
    "the browser is sent to an invalid redirect URI",
    each<Changes>([
      { redirect_uri: "https://evil.test/", scope: "bogus" },
      { redirect_uri: `${callback}?code=x`, response_type: "token" },
      { redirect_uri: "javascript:alert(1)", state: "s" },
      { redirect_uri: "http://localhost:1/?error=access_denied" }
    ], async (probe, changes) => expectShown(await probe.ask(await probe.application(), changes)))
  )
]

export const requirements: ReadonlyArray<Requirement> = [...registration]
