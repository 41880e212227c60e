/** Requests to the running service, in the forms in which clients and browsers really send them. */
import { expect, layer } from "@effect/vitest"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  exchange,
  obtainTokens,
  openAs,
  refresh,
  type Tokens,
  type Wanted
} from "@startlist/test-support/Consent"
import { Browser, formsOf, type Page, signIn, theForm } from "@startlist/test-support/Browser"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"
import { type Client, createApplication, createUser, operate } from "@startlist/test-support/Operator"
import { Effect, Redacted } from "effect"
import { gzipSync } from "node:zlib"

type Service = InProcessService.Service

const formType = { "content-type": "application/x-www-form-urlencoded" }
const jsonType = { "content-type": "application/json" }
const mark = "\uFEFF"

/** An owner, an athlete whose browser is signed in, and an application. */
const makeWorld = async (service: Service) => {
  const [owner, athlete] = [await createUser(service, "platform"), await createUser(service, "athlete")]
  const client = await createApplication(service, owner)
  const browser = new Browser()
  await openAs(browser, authorizeUrl(service, client), athlete)
  /** The redirect after a decision. */
  const back = (wanted: Wanted = {}, decision: "allow" | "deny" = "allow") =>
    consent(authorizeUrl(service, client, wanted), athlete, decision, browser)
  const code = async (scope: string) => (await back({ scope })).searchParams.get("code") ?? ""
  const tokens = async (scope = "profile:read read"): Promise<Tokens> =>
    (await exchange(service, client, await code(scope))).json()
  return { owner, athlete, client, browser, back, code, tokens }
}

/** One for all tests: passwords are slow. */
let made: ReturnType<typeof makeWorld> | undefined
const worldOf = (service: Service) => made ??= makeWorld(service)

const credentials = ({ client_id, client_secret }: Client) => ({ client_id: String(client_id), client_secret })

/** Sends bytes, so that `fetch` adds no media type. */
const post = (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { method: "POST", body: typeof body === "string" ? new TextEncoder().encode(body) : body, headers })

const refreshForm = (client: Client, refresh_token: string): string =>
  new URLSearchParams({ grant_type: "refresh_token", refresh_token, ...credentials(client) }).toString()

const isSignIn = ({ html }: Page): boolean => html.includes("type=\"password\"")

const isConsent = (page: Page): boolean =>
  formsOf(page).some(({ buttons }) => buttons.some(([name]) => name === "decision"))

/** Presses "Allow". Returns the parameters of the answer. */
const allow = async (browser: Browser, page: Page): Promise<URLSearchParams> => {
  const form = theForm(page, ({ buttons }) => buttons.some(([name]) => name === "decision"))
  const { headers } = await browser.submit(form, {}, ["decision", "allow"])
  return new URL(headers.get("location") ?? "").searchParams
}

layer(InProcessService.layer())("the running service", (it) => {
  it.effect(
    "registers no address that a URL parser refuses, or that has a parameter of the answer",
    on(async (service) => {
      const { owner } = await worldOf(service)
      const { client_id } = await createApplication(service, owner)
      const change = async (fields: object) =>
        (await operate(service, "PATCH", `/applications/${client_id}`, fields)).status
      for (const url of ["https://[::1", "https://a.example:99999/", "https://a.example:x/"]) {
        for (const fields of [{ redirect_uris: [url] }, { website: url }, { privacy_policy: url }, { logo: url }]) {
          expect([fields, await change(fields)]).toEqual([fields, 422])
        }
      }
      for (const uri of ["https://a.example/?a=b&%63ode=x", "http://localhost/?state", "https://[::1]/?error_uri=u"]) {
        expect([uri, await change({ redirect_uris: [uri] })]).toEqual([uri, 422])
      }
      const good = [
        "https://a.example/?codes=1&Code=2&next=%26code=3",
        "https://[2001:db8::1]:65535/",
        "http://[::1]:1/a"
      ]
      expect(await change({ redirect_uris: good })).toBe(200)
    })
  )

  it.effect(
    "sends nobody to an unregistered loopback address with a parameter of the answer",
    on(async (service) => {
      const { browser, client } = await worldOf(service)
      for (const query of ["code=planted", "x=1&%73tate=planted", "error=access_denied", "iss=https://evil.test"]) {
        for (const start of ["http://localhost:7999/callback?", "https://127.0.0.1/?", "http://[::1]:1/a?b&"]) {
          const page = await browser.request(authorizeUrl(service, client, { redirect_uri: start + query }))
          expect([query, page.status, page.headers.get("location")]).toEqual([query, 400, null])
          expect(page.html).toContain("already contains a parameter of our answer")
        }
      }
      const good = authorizeUrl(service, client, { redirect_uri: "http://localhost:1/?codes=1" })
      expect(isConsent(await browser.open(good))).toBe(true)
    })
  )

  it.effect(
    "writes a space in an answer as %20, with a code or with an error",
    on(async (service) => {
      const { back } = await worldOf(service)
      for (const state of ["a b", "  ", "1 + 1 = 2"]) {
        for (const decision of ["allow", "deny"] as const) {
          const { search, searchParams } = await back({ state }, decision)
          expect(search).not.toContain("+")
          const raw = /[?&]state=([^&]*)/.exec(search)?.[1] ?? ""
          expect([decodeURIComponent(raw), searchParams.get("state")]).toEqual([state, state])
        }
      }
    })
  )

  it.effect(
    "ignores an unknown parameter that repeats, and refuses a known one",
    on(async (service) => {
      const { athlete, browser, client, tokens } = await worldOf(service)
      const unknown = "resource=https%3A%2F%2Fa.test&resource=https%3A%2F%2Fb.test&audience=x&audience=y"
      const form = `${refreshForm(client, (await tokens()).refresh_token)}&${unknown}`
      for (const known of ["grant_type=refresh_token", `client_id=${client.client_id}`, "scope=read&scope=read"]) {
        const answer = await post(`${service.url}/oauth/token`, `${form}&${known}`, formType)
        expect([known, answer.status, (await answer.json()).error]).toEqual([known, 400, "invalid_request"])
      }
      expect((await post(`${service.url}/oauth/token`, form, formType)).status).toBe(200)

      const url = `${authorizeUrl(service, client)}&${unknown}`
      for (const known of ["scope=read", "state=1&state=2", "prompt=login&prompt=login", "login_hint=a&login_hint=b"]) {
        const { headers } = await browser.request(`${url}&${known}`)
        expect([known, headers.get("location")]).toEqual([known, expect.stringContaining("error=invalid_request")])
      }
      expect((await consent(url, athlete, "allow", browser)).searchParams.has("code")).toBe(true)
    })
  )

  it.effect(
    "reads a body without a media type as a form, and ignores a byte order mark",
    on(async (service) => {
      const { client, tokens } = await worldOf(service)
      const endpoint = `${service.url}/oauth/token`
      let { refresh_token } = await tokens()
      for (const [before, headers] of [["", {}], [mark, {}], [mark, formType], ["", { "content-type": "" }]] as const) {
        const answer = await post(endpoint, before + refreshForm(client, refresh_token), headers)
        expect([before, headers, answer.status]).toEqual([before, headers, 200])
        refresh_token = (await answer.json()).refresh_token
      }
      for (const blank of ["", "{}", mark, `${mark}{}`]) {
        const answer = await post(`${endpoint}?${refreshForm(client, refresh_token)}`, blank, jsonType)
        expect([blank, answer.status]).toEqual([blank, 200])
        refresh_token = (await answer.json()).refresh_token
      }
    })
  )

  it.effect(
    "ignores one byte order mark in front of JSON",
    on(async (service) => {
      const { client, owner } = await worldOf(service)
      const { access_token } = await obtainTokens(service, client, owner)
      const subscription = JSON.stringify({ webhook_subscription: { callback_url: "ftp://x", verify_token: "v" } })
      const user = JSON.stringify({
        role: "athlete",
        email: `${crypto.randomUUID()}@a.test`,
        password: "a long password"
      })
      const cases = [
        ["/api/v1/webhook_subscription", mark + subscription, access_token, 422],
        ["/api/v1/webhook_subscription", mark + mark + subscription, access_token, 400],
        ["/operator/v1/users", mark + user, service.operatorToken, 201],
        ["/operator/v1/users", mark + mark + user, service.operatorToken, 400]
      ] as const
      for (const [path, body, token, status] of cases) {
        const answer = await post(service.url + path, body, { ...jsonType, authorization: `Bearer ${token}` })
        expect([path, body.slice(0, 2), answer.status]).toEqual([path, body.slice(0, 2), status])
      }
    })
  )

  it.effect(
    "refuses an encoded body with 415, at every kind of endpoint",
    on(async (service) => {
      const { client, tokens } = await worldOf(service)
      const { access_token, refresh_token } = await tokens()
      const form = refreshForm(client, refresh_token)
      const requests = [
        ["/oauth/token", gzipSync(form), formType],
        ["/oauth/authorize", gzipSync("decision=allow"), formType],
        ["/login", gzipSync("email=x"), formType],
        ["/api/v1/webhook_subscription", gzipSync("{}"), { ...jsonType, authorization: `Bearer ${access_token}` }],
        ["/operator/v1/users", gzipSync("{}"), { ...jsonType, authorization: `Bearer ${service.operatorToken}` }]
      ] as const
      for (const [path, body, headers] of requests) {
        for (const encoding of ["gzip", "br", "identity, gzip"]) {
          const answer = await post(service.url + path, body, { ...headers, "content-encoding": encoding })
          expect([path, encoding, answer.status, answer.headers.get("accept-encoding")])
            .toEqual([path, encoding, 415, "identity"])
        }
      }
      const plain = await post(`${service.url}/oauth/token`, form, { ...formType, "content-encoding": "Identity" })
      expect(plain.status).toBe(200)
    })
  )

  it.effect(
    "answers a path with too many slashes in the format of its readers, and names the path",
    on(async (service) => {
      const headers = { authorization: `Bearer ${service.operatorToken}` }
      const json = (path: string) => ["application/json", `Use ${path}`] as const
      const page = (path: string) => ["text/html", `href="${path}"`] as const
      const cases = [
        ["//oauth/token", json("/oauth/token")],
        ["/oauth/token/", json("/oauth/token")],
        ["/oauth///revoke//", json("/oauth/revoke")],
        ["//api/v1/athlete", json("/api/v1/athlete")],
        ["//operator/v1/users/1/", json("/operator/v1/users/1")],
        ["/.well-known//oauth-authorization-server", json("/.well-known/oauth-authorization-server")],
        ["/oauth/authorize/?scope=a%20b", page("/oauth/authorize?scope=a%20b")],
        ["//login", page("/login")],
        ["/account//applications/", page("/account/applications")]
      ] as const
      for (const [path, [type, named]] of cases) {
        const answer = await fetch(service.url + path, { headers })
        expect([path, answer.status, answer.headers.get("content-type")?.split(";")[0]]).toEqual([path, 404, type])
        expect(await answer.text()).toContain(named)
      }
      for (const path of ["//oauth/nowhere", "//api/v2//athlete", "//.well-known/x"]) {
        expect((await fetch(service.url + path)).headers.get("content-type")).toMatch(/^application\/json/)
      }
    })
  )

  it.effect(
    "speaks the language of a tag with a region",
    on(async (service) => {
      const { browser, client } = await worldOf(service)
      const tags = [["fr-FR", "fr"], ["fr_CA", "fr"], ["FR", "fr"], ["en-GB", "en"], ["de-DE", "en"], ["french", "en"]]
      for (const [locale = "", lang] of tags) {
        for (const one of [browser, new Browser()]) {
          const { html } = await one.open(authorizeUrl(service, client, { locale }))
          expect([locale, /<html lang="(\w+)"/.exec(html)?.[1]]).toEqual([locale, lang])
        }
      }
    })
  )

  it.effect(
    "fills the form of the sign-in page with login_hint, if it is an e-mail address",
    on(async (service) => {
      const { client } = await worldOf(service)
      const hinted = async (login_hint: string) => {
        const page = await new Browser().open(`${authorizeUrl(service, client)}&${new URLSearchParams({ login_hint })}`)
        return theForm(page, ({ fields }) => fields.has("password")).fields.get("email")
      }
      for (const hint of ["ada@example.org", "a+b@example.org", "\"<'&@example.org"]) {
        expect(await hinted(hint)).toBe(hint)
      }
      for (const hint of ["", "4711", "a b@c", `${"a".repeat(250)}@example.org`]) expect(await hinted(hint)).toBe("")
    })
  )

  it.effect(
    "asks for the password once after prompt=login, also in a session, and keeps the request",
    on(async (service) => {
      const { athlete, client } = await worldOf(service)
      const browser = new Browser()
      await openAs(browser, authorizeUrl(service, client), athlete)
      const urlOf = (prompt: string, state = "") =>
        `${authorizeUrl(service, client)}&${new URLSearchParams({ prompt, state })}`
      for (
        const [prompt, state] of [["login", "1"], ["consent login", "a b"], ["login select_account", "é"]] as const
      ) {
        const page = await browser.open(urlOf(prompt, state))
        expect([prompt, isSignIn(page)]).toEqual([prompt, true])
        const wrong = await signIn(browser, page, athlete.email, "a wrong password")
        expect([wrong.status, isSignIn(wrong)]).toEqual([403, true])
        const next = await signIn(browser, wrong, athlete.email, athlete.password)
        expect([prompt, isConsent(next)]).toEqual([prompt, true])
        expect((await allow(browser, next)).get("state")).toBe(state)
      }
      for (const prompt of ["none", "consent", "Login"]) {
        expect([prompt, isConsent(await browser.open(urlOf(prompt)))]).toEqual([prompt, true])
      }
    })
  )

  it.effect(
    "takes an authorization request by POST, with and without a session, and decides nothing by it",
    on(async (service) => {
      const { athlete, client } = await worldOf(service)
      const state = "line\nbreak & more"
      const { origin, pathname, searchParams } = new URL(authorizeUrl(service, client, { state }))
      const browser = new Browser({ "sec-fetch-site": "same-site", origin: "http://app.localhost" })
      const send = (more: ReadonlyArray<readonly [string, string]> = []) =>
        browser.request(origin + pathname, {
          method: "POST",
          body: new URLSearchParams(
            [...searchParams, ["resource", "a"], ["resource", "b"], ...more].map(([a, b]) => [a, b])
          )
        })
      const own = new Browser()
      Object.assign(own, { jar: browser.jar })
      const location = (await send()).headers.get("location") ?? ""
      const asked = await signIn(own, await own.open(origin + location), athlete.email, athlete.password)
      for (const page of [asked, await send()]) {
        expect([page.status, isConsent(page)]).toEqual([200, true])
        expect((await allow(own, page)).get("state")).toBe(state)
      }
      for (
        const forged of [[["decision", "allow"]], [["decision", "deny"]], [["decision", "allow"], [
          "csrf",
          "x"
        ]]] as const
      ) {
        const page = await send(forged)
        expect([page.status, page.headers.get("location")]).toEqual([403, null])
      }
      const wrong = await send([["scope", "read"]])
      expect(wrong.headers.get("location")).toMatch(/^http:\/\/localhost:7999\/callback\?error=invalid_request&/)
    })
  )

  it.scoped("ends a scope that was removed from SCOPES with the next refresh", () =>
    Effect.gen(function*() {
      const service = yield* InProcessService.InProcessService
      const restarted = (SCOPES: string) =>
        InProcessService.make({ SCOPES, DATABASE_URL: Redacted.value(service.database.url) })
      const [later, last] = [yield* restarted("profile:read,read,new"), yield* restarted("new")]
      yield* Effect.promise(async () => {
        const { client, code, tokens } = await worldOf(service)
        const scopeOf = async (token: string) => {
          const answer = await post(
            `${later.url}/oauth/introspect`,
            `${new URLSearchParams({ token, ...credentials(client) })}`
          )
          return (await answer.json()).scope
        }
        const old = await tokens("write read profile:read")
        const fresh: Tokens = await (await refresh(later, client, old.refresh_token)).json()
        expect(await scopeOf(old.access_token)).toBe("write read profile:read")
        expect([await scopeOf(fresh.access_token), await scopeOf(fresh.refresh_token)])
          .toEqual(["read profile:read", "read profile:read"])
        const again: Tokens = await (await refresh(service, client, fresh.refresh_token)).json()
        expect(await scopeOf(again.access_token), "it does not come back with the scope").toBe("read profile:read")

        expect((await (await exchange(later, client, await code("write read"))).json()).scope).toBe("read")

        const unused = await code("write")
        const { refresh_token } = await tokens("read")
        const refusals = [
          await exchange(later, client, unused),
          await exchange(last, client, unused),
          await refresh(last, client, refresh_token)
        ]
        for (const refused of refusals) {
          expect([refused.status, (await refused.json()).error]).toEqual([400, "invalid_scope"])
        }
        expect((await refresh(service, client, refresh_token)).status, "nothing has ended").toBe(200)
        expect((await exchange(service, client, unused)).status).toBe(200)
      })
    }))

  it.effect(
    "names the scopes that live tokens still have after a narrower consent",
    on(async (service) => {
      const { client, owner } = await worldOf(service)
      const browser = new Browser()
      const listed = async (scope: string) => {
        const back = await consent(authorizeUrl(service, client, { scope }), owner, "allow", browser)
        const answer = await exchange(service, client, back.searchParams.get("code") ?? "")
        const { html } = await browser.open(`${service.url}/account/applications`)
        const scopes = [...html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, name]) => name)
        return { scopes, token: (await answer.json()).access_token }
      }
      // Other tests may have allowed reading it, too.
      const writing = expect.stringMatching(/change your profile$/)
      const wide = await listed("profile:write read")
      expect(wide.scopes.slice(0, 2)).toEqual([writing, "see your registrations and data"])
      const narrow = await listed("read")
      expect(narrow.scopes.slice(0, 2)).toEqual(["see your registrations and data", writing])
      expect(await athleteStatus(service, wide.token), "the wider token is valid, but not an athlete's").toBe(403)
      const both = await listed("read write")
      expect(both.scopes.slice(0, 1)).toEqual(["see and change your registrations and data"])
    })
  )
})
