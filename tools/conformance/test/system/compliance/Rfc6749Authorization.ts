/** RFC 6749: the authorization endpoint and its answers. */
import { expect } from "@effect/vitest"
import { expectRedirectedError, expectShown, plainText } from "./Expectations.ts"
import {
  asksForConsent,
  callback,
  callbackWithQuery,
  type Changes,
  issuer,
  locationOf,
  loopbackCallback
} from "./Probe.ts"
import { deviates, each, elsewhere, everywhere, holds, type Requirement } from "./Requirement.ts"

const request: ReadonlyArray<Requirement> = [
  holds(
    "3.1",
    "MUST",
    "the user is identified before access can be granted",
    each<Record<string, string>>([{}, { cookie: "startlist_session=x" }, { cookie: "__Host-startlist_session=x" }, {
      authorization: "Bearer x"
    }], async (probe, headers) => {
      const path = probe.authorizePath(await probe.application())
      for (const method of ["GET", "POST"]) {
        const answer = await probe.request(path, { method, headers })
        expect(locationOf(answer).pathname).toBe("/login")
      }
    })
  ),
  holds("3.1", "MUST NOT", "the address of the authorization endpoint has a fragment", async (probe) => {
    const endpoint = String((await probe.metadata()).body["authorization_endpoint"])
    expect(endpoint.startsWith(issuer)).toBe(true)
    expect(endpoint).not.toContain("#")
  }),
  holds(
    "3.1",
    "MUST",
    "the authorization endpoint supports GET",
    each<Changes>(
      [{}, { scope: "read+write" }, { state: "s", role: "athlete" }],
      async (probe, changes) => expect((await probe.ask(await probe.application(), changes)).status).toBe(200)
    )
  ),
  holds("3.1", "MUST", "a parameter without a value counts as omitted", async (probe) => {
    const client = await probe.application()
    const back = await probe.consent(client, { role: "", code_challenge: "" })
    expect([...back.searchParams.keys()].sort()).toEqual(["code", "iss", "scope"])
    expectRedirectedError(await probe.ask(client, { response_type: "" }), callback, "invalid_request")
  }),
  holds("3.1", "MUST", "unknown parameters are ignored, also if they repeat (RFC 8707)", async (probe) => {
    const path = probe.authorizePath(await probe.application())
    for (const unknown of ["nonce=1", "prompt=none", "%3Cb%3E=%C3%BC", "resource=x&resource=y", "=&=1", "a&a&a"]) {
      expect(asksForConsent(await probe.askAt(`${path}&${unknown}`)), unknown).toBe(true)
    }
  }),
  holds("3.1", "MUST NOT", "a request repeats a parameter", async (probe) => {
    const client = await probe.application()
    const path = probe.authorizePath(client, { state: "s" })
    for (const again of ["scope=read", "response_type=code", "state=t"]) {
      expectRedirectedError(await probe.askAt(`${path}&${again}`), callback, "invalid_request")
    }
    expectShown(await probe.askAt(`${path}&client_id=${client.client_id}`))
    expectShown(await probe.askAt(`${path}&redirect_uri=${encodeURIComponent(callbackWithQuery)}`))
  }),
  holds("3.1", "MUST NOT", "a response repeats a parameter, also one of the redirect URI", async (probe) => {
    const client = await probe.application()
    const granted = ["code", "iss", "scope", "state"]
    for (const redirect_uri of [callback, callbackWithQuery, loopbackCallback]) {
      const own = [...new URL(redirect_uri).searchParams.keys()]
      const { searchParams } = await probe.consent(client, { redirect_uri, state: "s" })
      expect([...searchParams.keys()].sort()).toEqual([...granted, ...own].sort())
      const refused = locationOf(await probe.ask(client, { redirect_uri, state: "s", scope: "bogus" })).searchParams
      expect([...refused.keys()].sort()).toEqual(["error", "error_description", "iss", "state", ...own].sort())
    }
    for (const name of [...granted, "error", "error_description", "error_uri", "%63ode"]) {
      expectShown(await probe.ask(client, { redirect_uri: `http://localhost:7999/?${name}=x` }))
    }
  }),
  holds(
    "3.1.1",
    "MUST",
    "a missing response type is an error",
    each<Changes>([{}, { response_type: "" }, { scope: "bogus" }], async (probe, changes) => {
      const page = await probe.ask(await probe.application(), { response_type: undefined, ...changes })
      expectRedirectedError(page, callback, "invalid_request")
    })
  ),
  holds("3.1.1", "MUST", "an unsupported response type is an error", async (probe) => {
    const client = await probe.application()
    for (const response_type of ["token", "code token", "id_token", "CODE", "none"]) {
      expectRedirectedError(await probe.ask(client, { response_type }), callback, "unsupported_response_type")
    }
  }),
  holds(
    "3.3",
    "MUST",
    "a request without scope gets a default, or is refused as an invalid scope",
    each([undefined, "", " ", "   "], async (probe, scope) => {
      expectRedirectedError(await probe.ask(await probe.application(), { scope }), callback, "invalid_scope")
    })
  ),
  holds("3.3", "MUST", "scopes are case-sensitive words between spaces, in any order", async (probe) => {
    const client = await probe.application()
    expectRedirectedError(await probe.ask(client, { scope: "Read" }), callback, "invalid_scope")
    expectRedirectedError(await probe.ask(client, { scope: "read,write" }), callback, "invalid_scope")
    const { searchParams } = await probe.consent(client, { scope: "write read" })
    expect(searchParams.get("scope")?.split(" ").sort()).toEqual(["read", "write"])
  }),
  elsewhere(
    "3.3",
    "SHOULD",
    "scopes and the default are documented",
    "docs/configuration.md (`SCOPES`, `DEFAULT_SCOPE`)"
  ),
  deviates(
    "10.3",
    "SHOULD",
    "the identity of the client influences its scopes",
    async (probe) => {
      const client = await probe.application()
      expect((await probe.consent(client, { scope: "read write" })).searchParams.get("scope")).not.toBe("read write")
    },
    everywhere({
      reason: "the user accepts all requested scopes or none (requirements §1); which are known is configuration",
      instead: async (probe) => {
        const { searchParams } = await probe.consent(await probe.application(), { scope: "read write" })
        expect(searchParams.get("scope")).toBe("read write")
      }
    })
  )
]

const answer: ReadonlyArray<Requirement> = [
  holds("4.1.2", "MUST", "`state` is returned unchanged, even if it is empty", async (probe) => {
    const client = await probe.application()
    for (const state of ["", "a b+c%20d&e=f#g?h/é✓", "\"'<>\\", " ", "x".repeat(10_000)]) {
      expect((await probe.consent(client, { state })).searchParams.getAll("state")).toEqual([state])
    }
  }),
  holds("4.1.2.1", "MUST", "an error also returns `state`", async (probe) => {
    const client = await probe.application()
    const page = await probe.ask(client, { scope: "bogus", state: "é &=" })
    expect(locationOf(page).searchParams.get("state")).toBe("é &=")
    expect((await probe.consent(client, { state: "é &=" }, "deny")).searchParams.get("state")).toBe("é &=")
  }),
  holds(
    "4.1.2.1",
    "SHOULD",
    "the user sees an error about an unknown client or a wrong redirect URI",
    async (probe) => {
      const client = await probe.application()
      expectShown(await probe.ask({ ...client, client_id: 9007199254740991 }))
      expectShown(await probe.ask(client, { client_id: "x" }))
      expectShown(await probe.ask(client, { redirect_uri: "https://evil.test/" }))
    }
  ),
  holds(
    "4.1.2.1",
    "MUST NOT",
    "the browser is redirected for an unknown client or a wrong redirect URI",
    async (probe) => {
      const client = await probe.application()
      const pages = [
        await probe.ask(client, { client_id: undefined }),
        await probe.ask({ ...client, client_id: 9007199254740991 }, { redirect_uri: loopbackCallback }),
        await probe.ask(client, { redirect_uri: "https://evil.test/" })
      ]
      expect(pages.map(({ headers }) => headers.get("location"))).toEqual([null, null, null])
    }
  ),
  holds(
    "4.1.2.1",
    "MUST",
    "a refusal by the user is `access_denied`",
    each<Changes>([{}, { scope: "write" }, { state: "s" }, { role: "organizer" }], async (probe, changes) => {
      const { searchParams } = await probe.consent(await probe.application(), changes, "deny")
      expect(searchParams.get("error")).toBe("access_denied")
      expect(searchParams.has("code")).toBe(false)
    })
  ),
  holds("4.1.2.1", "MUST", "an unknown scope is `invalid_scope`", async (probe) => {
    const client = await probe.application()
    for (const scope of ["bogus", "read bogus", "\"", "read\\write"]) {
      expectRedirectedError(await probe.ask(client, { scope }), callback, "invalid_scope")
    }
  }),
  holds(
    "4.1.2.1",
    "MUST NOT",
    "error codes and descriptions have characters outside the allowed set",
    async (probe) => {
      const client = await probe.application()
      const wrong = [{ scope: "\"\\é" }, { response_type: "\"\\é" }, { role: "\"\\é" }, { code_challenge: "\"\\é" }]
      for (const changes of wrong) {
        const { searchParams } = locationOf(await probe.ask(client, changes))
        expect(searchParams.get("error")).toMatch(plainText)
        expect(searchParams.get("error_description")).toMatch(plainText)
      }
    }
  )
]

export const requirements: ReadonlyArray<Requirement> = [...request, ...answer]
