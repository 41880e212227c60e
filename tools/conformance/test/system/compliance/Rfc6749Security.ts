/** RFC 6749 §10, with the parts about other grants. */
import { expect } from "@effect/vitest"
import { Browser, signIn } from "@startlist/test-support/Browser"
import { createApplication } from "@startlist/test-support/Operator"
import { expectError, expectUnguessable } from "./Expectations.ts"
import { type Answer, asksForConsent, callback, encode, formsOf, locationOf, type Probe } from "./Probe.ts"
import { each, elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

/** Sends wrong credentials from one address until the service limits it, or for a maximum time. */
const bruteForce = async (ask: () => Promise<Answer>): Promise<Answer> => {
  for (let failures = 0; failures < 120; failures++) {
    const answer = await ask()
    if (answer.status === 429) return answer
  }
  throw new Error("120 failures in a row were let through")
}

const expectWait = (answer: Answer): number => {
  expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  return Number(answer.headers.get("retry-after"))
}

/** Sixteen samples. */
const many = async (make: (sample: number) => Promise<string>): Promise<ReadonlyArray<string>> => {
  const made: Array<string> = []
  while (made.length < 16) made.push(await make(made.length))
  return made
}

const unguessable = async (probe: Probe, what: "access_token" | "refresh_token"): Promise<void> => {
  const client = await probe.application()
  let tokens = await probe.tokens(client)
  expectUnguessable(
    await many(async () => {
      tokens = probe.pair(await probe.refresh(client, tokens.refresh_token))
      return tokens[what]
    })
  )
}

/** A decision that another site posts in the browser of a signed-in user. */
const postDecision = async (probe: Probe, changes: Record<string, string>, headers: Record<string, string> = {}) => {
  const client = await probe.application()
  const [form] = formsOf(await probe.ask(client)).filter(({ buttons }) => buttons.some(([name]) => name === "decision"))
  const browser = await probe.browserOf(await probe.user("athlete"))
  return browser.request(`${probe.service.url}/oauth/authorize`, {
    method: "POST",
    body: encode({ ...Object.fromEntries(form?.fields ?? []), decision: "allow", ...changes }),
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers }
  })
}

export const requirements: ReadonlyArray<Requirement> = [
  holds("2.3.1", "MUST", "client authentication is protected against brute force", async (probe) => {
    const paths = ["/oauth/token", "/oauth/revoke", "/oauth/introspect"]
    for (const [index, path] of paths.entries()) {
      const client = await probe.application()
      const from = { "x-forwarded-for": `203.0.113.${index + 1}` }
      const form = { grant_type: "refresh_token", refresh_token: "x", token: "x", client_id: String(client.client_id) }
      const ask = (client_secret: string) => probe.post(path, { ...form, client_secret }, from)
      const wait = expectWait(await bruteForce(() => ask("wrong")))
      expect((await ask(client.client_secret)).status, "the right secret is never refused").not.toBe(429)
      probe.clock.advance(wait)
      expect((await ask("wrong")).status, "and a wrong one is examined after the wait").not.toBe(429)
    }
  }),
  holds("10.2", "MUST", "a request has an effect only after client authentication", async (probe) => {
    const client = await probe.application()
    const tokens = await probe.tokens(client)
    const stranger = { ...client, client_secret: "wrong" }
    await probe.revoke(stranger, tokens.access_token)
    await probe.refresh(stranger, tokens.refresh_token)
    await probe.introspect(stranger, tokens.access_token)
    expect((await probe.bearer(tokens.access_token)).status).toBe(200)
    expect((await probe.refresh(client, tokens.refresh_token)).status).toBe(200)
  }),
  holds("10.2", "SHOULD", "the user sees the application and the requested scopes", async (probe) => {
    const settings = { name: "Trail & <Error>" }
    const client = await createApplication(probe.service, await probe.user("platform"), [callback], settings)
    const { html } = await probe.ask(client, { scope: "profile:read write" })
    expect(html).toMatch(/Trail &amp; (&lt;|&#60;)Error/)
    expect(html).toContain("profile:read")
    expect(html).toContain("write")
  }),
  holds("10.2", "SHOULD NOT", "a repeated request is granted without the user", async (probe) => {
    const client = await probe.application()
    await probe.tokens(client)
    expect(asksForConsent(await probe.ask(client))).toBe(true)
  }),
  holds("10.3", "MUST", "access tokens cannot be forged, changed or guessed", async (probe) => {
    const { access_token } = await probe.tokens(await probe.application())
    const last = access_token.endsWith("A") ? "B" : "A"
    for (const token of [access_token.slice(0, -1) + last, access_token.slice(0, -1), access_token.toUpperCase()]) {
      expect((await probe.bearer(token)).status).toBe(401)
    }
    expect((await probe.bearer(access_token)).status).toBe(200)
  }),
  holds("10.4", "MUST", "a refresh token stays bound to its client, and is no access token", async (probe) => {
    const [client, other] = [await probe.application(), await probe.application()]
    const { refresh_token } = await probe.tokens(client)
    expectError(await probe.refresh(other, refresh_token), 400, "invalid_grant")
    expect((await probe.bearer(refresh_token)).status).toBe(401)
  }),
  holds("10.5", "MUST", "codes are short-lived and valid once", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client)
    const answers = await Promise.all(Array.from({ length: 8 }, () => probe.exchange(client, code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  }),
  holds("10.10", "MUST", "access tokens have at least 160 random bits", (probe) => unguessable(probe, "access_token")),
  holds(
    "10.10",
    "MUST",
    "refresh tokens have at least 160 random bits",
    (probe) => unguessable(probe, "refresh_token")
  ),
  holds("10.10", "MUST", "codes have at least 160 random bits", async (probe) => {
    const client = await probe.application()
    expectUnguessable(await many(() => probe.code(client)))
  }),
  holds(
    "10.10",
    "MUST",
    "client secrets have at least 160 random bits",
    async (probe) =>
      expectUnguessable(
        await many(async (sample) => {
          const uri = callback + "x".repeat(sample)
          probe.note("/operator/v1/applications", { body: uri })
          return (await probe.application([uri])).client_secret
        })
      )
  ),
  holds(
    "10.10",
    "MUST",
    "the passwords of users are protected against guessing",
    each<"athlete" | "organizer">(["athlete", "organizer"], async (probe, role) => {
      const user = await probe.user(role, `guessed ${role}`)
      probe.note("/login", { body: role })
      const browser = new Browser({ "x-forwarded-for": role === "athlete" ? "203.0.113.77" : "2001:db8:77::1" })
      const login = await browser.open(`${probe.service.url}/login`)
      const guess = async () => {
        const { headers, html: text, status } = await signIn(browser, login, user.email, "wrong")
        return { headers, text, status, body: {} }
      }
      const wait = expectWait(await bruteForce(guess))
      expect((await signIn(browser, login, user.email, user.password)).status, "the right one has to wait").toBe(429)
      probe.clock.advance(wait)
      const page = await signIn(browser, await browser.open(`${probe.service.url}/login`), user.email, user.password)
      expect(page.status).toBe(200)
    })
  ),
  holds(
    "10.12",
    "MUST",
    "another site cannot make a browser consent: the form contains a token of the session",
    async (probe) => {
      const forged = [
        await postDecision(probe, { csrf: "" }),
        await postDecision(probe, { csrf: "x" }),
        await postDecision(probe, {}, { origin: "https://evil.test" }),
        await postDecision(probe, {}, { "sec-fetch-site": "cross-site" })
      ]
      expect(forged.map(({ status }) => status)).toEqual([403, 403, 403, 403])
      expect(forged.map(({ headers }) => headers.get("location"))).toEqual([null, null, null, null])
      expect(locationOf(await postDecision(probe, {})).searchParams.has("code"), "the form itself is good").toBe(true)
    }
  ),
  holds(
    "10.12",
    "MUST",
    "a client gets nothing without the user: no request decides by itself",
    async (probe) => {
      const client = await probe.application()
      const page = await probe.askAt(`${probe.authorizePath(client)}&decision=allow&prompt=none&csrf=x`)
      expect(asksForConsent(page)).toBe(true)
    }
  ),
  holds("10.13", "SHOULD", "the pages cannot be framed", async (probe) => {
    const pages = [await probe.ask(await probe.application()), await new Browser().open(`${probe.service.url}/login`)]
    for (const { headers } of pages) {
      expect(headers.get("x-frame-options")).toBe("DENY")
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    }
  }),
  holds("10.14", "MUST", "input is sanitized, in particular `state` and `redirect_uri`", async (probe) => {
    const client = await probe.application()
    const state = "\"><script>alert(1)</script>\r\nset-cookie: a=b"
    const page = await probe.ask(client, { state })
    expect(page.html).not.toContain("<script>")
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'")
    const back = await probe.consent(client, { state })
    expect(back.searchParams.get("state")).toBe(state)
    const bad = await probe.ask(client, { redirect_uri: "javascript:alert(1)//\"><script>" })
    expect(bad.html).not.toContain("<script>")
    expect(bad.html).not.toContain("javascript:")
  }),
  holds("10.15", "SHOULD NOT", "the service is an open redirector, before sign-in or after", async (probe) => {
    const user = await probe.user("athlete")
    for (const target of ["https://evil.test/", "//evil.test/", "/\\evil.test/", "/%09/evil.test"]) {
      probe.note("/login", { body: target })
      const browser = new Browser()
      const login = await browser.open(`${probe.service.url}/login?${encode({ return_to: target })}`)
      const page = await signIn(browser, login, user.email, user.password)
      expect(new URL(page.headers.get("location") ?? "/", page.url).host).toBe(new URL(probe.service.url).host)
    }
  }),
  holds("B", "MUST", "parameters are form-encoded UTF-8, and what is not is refused", async (probe) => {
    const client = await probe.application()
    expect((await probe.consent(client, { state: "ñ 漢字 🏃" })).searchParams.get("state")).toBe("ñ 漢字 🏃")
    for (const bad of ["%ff", "%zz", "%", "%c3%28"]) {
      expect((await probe.askAt(`${probe.authorizePath(client)}&state=${bad}`)).status).toBe(400)
      const answer = await probe.request("/oauth/token", {
        method: "POST",
        body: `grant_type=refresh_token&refresh_token=${bad}`,
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
      expectError(answer, 400, "invalid_request")
    }
  }),
  elsewhere(
    "10.3",
    "MUST",
    "stored tokens and secrets are confidential",
    "only hashes are stored: law 10 in docs/security.md"
  ),
  notApplicable(
    "4.2",
    "MUST",
    "rules of the implicit grant (also §10.16)",
    "not offered: `token` is an unsupported response type"
  ),
  notApplicable("4.3", "MUST", "rules of the password grant (also §10.7)", "not offered: an unsupported grant type"),
  notApplicable("4.4", "MUST", "rules of the client credentials grant", "not offered: every token belongs to a user"),
  notApplicable("4.5", "MUST", "rules of extension grants", "none is offered"),
  notApplicable(
    "8",
    "MUST",
    "extensions are registered",
    "parameters that are not in the RFCs (`role`, `locale`) are documented ones"
  ),
  notApplicable("10.11", "SHOULD", "users are taught about phishing", "the task of the platform, not of the interface")
]
