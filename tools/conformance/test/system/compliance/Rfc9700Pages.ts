/** RFC 9700: redirects and pages. */
import { expect } from "@effect/vitest"
import { Browser } from "@startlist/test-support/Browser"
import { operate } from "@startlist/test-support/Operator"
import { expectRedirectedError, expectRefusedRedirects } from "./Expectations.ts"
import { callback, encode, locationOf, loopbackCallback } from "./Probe.ts"
import { deviates, elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

/** Names of headers that allow scripts of other origins to read an answer. */
const corsOf = (headers: Headers): ReadonlyArray<string> =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"))

const redirects: ReadonlyArray<Requirement> = [
  deviates(
    "2.1",
    "MUST",
    "redirect URIs equal registered ones exactly, except for the port on loopback",
    async (probe) =>
      expectRefusedRedirects(probe, await probe.application([callback]), [loopbackCallback, `${callback}/`]),
    {
      documented: {
        reason: "the interface allows localhost and 127.0.0.1 (requirements §4.1); all others are compared exactly",
        instead: async (probe) => {
          const client = await probe.application([callback])
          expect((await probe.ask(client, { redirect_uri: loopbackCallback })).status).toBe(200)
          await expectRefusedRedirects(probe, client, [`${callback}/`, "http://localhost.evil.test/"])
        }
      }
    }
  ),
  holds("2.1", "MUST NOT", "the service is an open redirector", async (probe) => {
    const client = await probe.application()
    await expectRefusedRedirects(probe, client, ["https://evil.test/", "//evil.test/", "https://evil.test"])
    const browser = new Browser()
    for (const path of ["/oauth/authorize?redirect_uri=https://evil.test/", "/login?return_to=//evil.test/"]) {
      expect((await browser.request(`${probe.service.url}${path}`)).headers.get("location")).toBeNull()
    }
  }),
  deviates(
    "4.11.2",
    "MUST",
    "the user signs in before each redirect, also after a wrong request",
    async (probe) => {
      const client = await probe.application()
      const page = await new Browser().request(`${probe.service.url}${probe.authorizePath(client, { scope: "bogus" })}`)
      expect(locationOf(page).pathname).toBe("/login")
      expectRedirectedError(await probe.ask(client, { scope: "bogus" }), callback, "invalid_scope")
    },
    {
      documented: {
        reason: "only platform users register applications, and applications see their mistakes without an account",
        instead: async (probe) => {
          const client = await probe.application()
          for (const changes of [{ scope: "bogus" }, { scope: undefined }, { scope: "read,write", state: "s" }]) {
            const path = probe.authorizePath(client, changes)
            probe.note(path)
            const page = await new Browser().request(`${probe.service.url}${path}`)
            expectRedirectedError(page, callback, "invalid_scope")
          }
        }
      }
    }
  ),
  holds("2.6", "MUST NOT", "responses go to http addresses that are not on loopback", async (probe) => {
    const { id } = await probe.user("platform")
    const body = { name: "Race Day", owner_id: id, redirect_uris: ["http://client.example.test/callback"] }
    expect((await operate(probe.service, "POST", "/applications", body)).status).toBe(422)
    await expectRefusedRedirects(probe, await probe.application(), ["http://client.example.test/callback"])
  }),
  holds(
    "4.12",
    "MUST NOT",
    "the response to a form with credentials is a redirect that repeats it (307, 308)",
    async (probe) => {
      const user = await probe.user("athlete")
      for (const path of [probe.authorizePath(await probe.application()), "/account/applications", "//evil.test/"]) {
        probe.note("/login", { body: path })
        const browser = new Browser()
        const login = await browser.open(`${probe.service.url}/login?${encode({ return_to: path })}`)
        const csrf = /name="csrf"[^>]*value="([^"]*)"/.exec(login.html)?.[1] ?? ""
        const answer = await browser.request(`${probe.service.url}/login`, {
          method: "POST",
          body: encode({ email: user.email, password: user.password, return_to: path, csrf }),
          headers: { "content-type": "application/x-www-form-urlencoded" }
        })
        expect(answer.status).toBe(303)
      }
    }
  )
]

const pages: ReadonlyArray<Requirement> = [
  holds("2.6", "MUST NOT", "scripts of other origins read the authorization endpoint (CORS)", async (probe) => {
    const path = probe.authorizePath(await probe.application())
    const origin = "https://app.example.test"
    const preflight = { origin, "access-control-request-method": "GET" }
    const answers = [
      await probe.request(path, { headers: { origin } }),
      await probe.request(path, { method: "OPTIONS", headers: preflight }),
      await probe.request(path, { method: "POST", headers: { origin } })
    ]
    expect(answers.map(({ headers }) => corsOf(headers))).toEqual([[], [], []])
    expect(answers[1]?.status).toBe(405)
    expect(answers[1]?.headers.get("allow")).toBe("GET, HEAD, POST")
  }),
  holds("4.16", "MUST", "pages of the flow cannot be framed", async (probe) => {
    const { headers } = await probe.ask(await probe.application())
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    expect(headers.get("x-frame-options")).toBe("DENY")
  }),
  holds("4.7.1", "MUST", "a decision is bound to the session of the user who sees the page", async (probe) => {
    const path = probe.authorizePath(await probe.application())
    const html = (await probe.askAt(path)).html
    const csrf = /name="csrf"[^>]*value="([^"]*)"/.exec(html)?.[1] ?? ""
    expect(csrf).toMatch(/.{20,}/)
    const organizer = await probe.user("organizer")
    expect((await probe.askAt(path, organizer)).status).toBe(200)
    const other = await probe.browserOf(organizer)
    const answer = await other.request(`${probe.service.url}${path}`, {
      method: "POST",
      body: encode({ csrf, decision: "allow" }),
      headers: { "content-type": "application/x-www-form-urlencoded" }
    })
    expect(answer.status).toBe(403)
  }),
  elsewhere(
    "4.13",
    "MUST",
    "headers of a proxy are accepted only from the proxy",
    "packages/http/test/ClientAddress.test.ts"
  ),
  elsewhere(
    "2.6",
    "RECOMMENDED",
    "TLS is end-to-end",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  notApplicable(
    "4.17",
    "MUST",
    "messages between windows have a target origin",
    "the script of the pages sends no messages"
  )
]

export const requirements: ReadonlyArray<Requirement> = [...redirects, ...pages]
