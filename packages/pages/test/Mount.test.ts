import { it } from "@effect/vitest"
import { Applications, Subscription, User } from "@startlist/core"
import { type Http, HttpConfig, Mount, Protocol, type Router } from "@startlist/http"
import { Authentication, Pages, Templates } from "@startlist/pages"
import { DateTime, Effect, Layer, Option } from "effect"
import { describe, expect } from "vitest"
import { formsOf, urlencoded } from "./support/Browser.ts"
import * as TestServer from "./support/Service.ts"
import { TestAccounts } from "@startlist/test-support/TestAccounts"

const authUrl = "https://club.example/connect"
const own = { url: "https://club.example/results", scopes: ["read"] }
const place = { ...HttpConfig.local, authUrl, baseUrl: authUrl, issuer: Option.some(authUrl), resources: [own] }

/** Every address in a page. */
const addressesIn = (body: string): ReadonlyArray<string> =>
  [...body.matchAll(/ (?:href|action|src)="([^"]*)"/g)].map(([, address = ""]) => address.replaceAll("&amp;", "&"))

/** A browser at a service that is mounted below `/connect`, signed in as this user. */
const signedIn = (email: string) =>
  Effect.gen(function*() {
    const { send } = yield* TestServer.Service
    const cookies = new Map<string, string>()
    const go = (method: string, target: string, fields?: Readonly<Record<string, string>>) =>
      Effect.tap(
        send(method, target, {
          headers: {
            cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
            ...(fields === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" })
          },
          ...(fields === undefined ? {} : { body: urlencoded(fields) })
        }),
        ({ headers }) => {
          for (const line of [headers["set-cookie"] ?? []].flat()) {
            expect(line).toMatch(/; Path=\/connect(?:;|$)/)
            const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=")
            cookies.set(name, value)
          }
        }
      )
    const [form] = formsOf(yield* go("GET", "/connect/login"))
    const password = `password of ${email}`
    const answer = yield* go("POST", form?.action ?? "", { ...form?.hidden, email, password })
    expect(answer.headers["location"]).toBe("/connect/account/applications")
    return { cookies, go }
  })

/** Two users, an application with a subscription, and a pending delivery: something to see on every page. */
const inhabited = Effect.gen(function*() {
  const accounts = yield* TestAccounts
  const applications = yield* Applications.Applications
  const subscriptions = yield* Subscription.SubscriptionStore
  const platform = yield* accounts.create("platform", "platform@example.test")
  yield* accounts.create("athlete", "athlete@example.test")
  const redirectUris = ["https://app.test/callback"]
  const { application } = yield* applications.create(platform.id, { name: "App", redirectUris, requirePkce: false })
  const now = yield* DateTime.now
  yield* subscriptions.insert({
    applicationId: application.id,
    callbackUrl: "https://app.test/events",
    createdAt: now,
    updatedAt: now
  })
  return `/connect/oauth/authorize?${
    urlencoded({
      client_id: String(application.id),
      redirect_uri: "https://app.test/callback",
      response_type: "code",
      scope: "read"
    })
  }`
})

describe("mounted below a path", () => {
  it.effect("no page, form, redirect or cookie leads out of it, for a user that follows every link and presses every button", () =>
    Effect.gen(function*() {
      const authorize = yield* inhabited
      /** Every kind of address once for each user: numbers and queries make no other kind. */
      const seen = new Set<string>()
      const kindOf = (method: string, target: string) =>
        `${method} ${(target.split("?")[0] ?? "").replaceAll(/\/\d+(?=\/|$)/g, "/N")}`
      for (const email of ["platform@example.test", "athlete@example.test"]) {
        const { go } = yield* signedIn(email)
        const visit = (
          method: string,
          target: string,
          fields?: Readonly<Record<string, string>>
        ): Effect.Effect<void> =>
          Effect.gen(function*() {
            const kind = `${email} ${kindOf(method, target)}`
            if (seen.has(kind) || target.startsWith("/connect/logout")) return
            seen.add(kind)
            const { body, headers, status } = yield* go(method, target, fields)
            expect(status, kind).toBeLessThan(500)
            const location = headers["location"]
            const isPage = String(headers["content-type"]).startsWith("text/html")
            const next = [
              ...(typeof location === "string" ? [location] : []),
              ...(isPage ? addressesIn(String(body)) : [])
            ].filter((address) => !address.startsWith("https://app.test/") && !address.startsWith("#"))
            for (const address of next) expect(address, kind).toMatch(/^\/connect(?:\/|$)/)
            const forms = isPage ? formsOf({ body, headers, status }) : []
            for (const form of forms) {
              // What deletes the application ends the walk.
              if (form.action.endsWith("/end")) expect(form.action).toMatch(/^\/connect\//)
              else yield* visit("POST", form.action, form.hidden)
            }
            for (const address of next) yield* visit("GET", address)
          })
        yield* visit("GET", authorize)
        yield* visit("GET", "/connect/nowhere")
        yield* visit("GET", "/connect/developer/applications")
      }
      const paths = new Set([...seen].map((kind) => kind.slice(kind.indexOf(" ") + 1)))
      for (
        const path of [
          "GET /connect/account/applications",
          "GET /connect/developer/applications/N/deliveries/N",
          "GET /connect/language",
          "POST /connect/developer/applications/N/signing-secret",
          "POST /connect/oauth/authorize"
        ]
      ) {
        expect(paths).toContain(path)
      }
    }).pipe(Effect.provide(TestServer.layer({ config: place }))))

  it.effect("a signed-out user returns after sign-in to the requested page", () =>
    Effect.gen(function*() {
      const authorize = yield* inhabited
      const { send } = yield* TestServer.Service
      const { headers } = yield* send("GET", authorize)
      expect(headers["location"]).toBe(`/connect/login?${urlencoded({ return_to: authorize })}`)
    }).pipe(Effect.provide(TestServer.layer({ config: place }))))

  it.effect("a path with too many slashes is refused in the format of its route, and the answer has the right one", () =>
    Effect.gen(function*() {
      const { send } = yield* TestServer.Service
      const paths = [
        "//connect/oauth/token",
        "/connect//oauth/token",
        "/connect/oauth/token/",
        "//connect//oauth//token//"
      ]
      for (const path of paths) {
        const { body, headers, status } = yield* send("POST", path)
        expect([path, status, headers["content-type"]]).toEqual([path, 404, "application/json;charset=UTF-8"])
        expect(JSON.parse(String(body)).error_description).toBe("this path does not exist. Use /connect/oauth/token")
      }
      for (const path of ["//connect/login?a=%20", "/connect/login//?a=%20"]) {
        const { body, status } = yield* send("GET", path)
        expect([path, status]).toEqual([path, 404])
        expect(body).toContain("href=\"/connect/login?a=%20\"")
      }
      for (const path of ["//oauth/token", "/connect", "/connect/", "//connect"]) {
        expect([path, (yield* send("GET", path)).status]).toEqual([path, 404])
      }
    }).pipe(Effect.provide(TestServer.layer({ config: place }))))

  it.effect("nothing is served outside of it, but for metadata, where RFC 8414 §3.1 and RFC 9728 §3.1 look for them", () =>
    Effect.gen(function*() {
      const { send } = yield* TestServer.Service
      for (const path of ["/oauth/token", "/login", "/connection/login", "/.well-known/oauth-authorization-server"]) {
        expect((yield* send("GET", path)).status, path).toBe(404)
      }
      for (const path of ["/connect", "/connect/api/v1/athlete", "/results"]) {
        const { body, status } = yield* send("GET", `/.well-known/oauth-protected-resource${path}`)
        expect([path, status]).toEqual([path, 200])
        const resource = `https://club.example${path}`
        expect(JSON.parse(String(body))).toMatchObject({ resource, authorization_servers: [authUrl] })
      }
      for (const path of ["", "/api/v1/athlete"]) {
        expect((yield* send("GET", `/.well-known/oauth-protected-resource${path}`)).status).toBe(404)
      }
      for (
        const path of [
          "/.well-known/oauth-authorization-server/connect",
          "/connect/.well-known/oauth-authorization-server"
        ]
      ) {
        const { body, status } = yield* send("GET", path)
        expect(status).toBe(200)
        expect(JSON.parse(String(body))).toMatchObject({
          issuer: authUrl,
          authorization_endpoint: `${authUrl}/oauth/authorize`,
          token_endpoint: `${authUrl}/oauth/token`
        })
      }
    }).pipe(Effect.provide(TestServer.layer({ config: place }))))

  it.effect("a form counts as ours if its origin is that of the address, without the path", () =>
    Effect.gen(function*() {
      yield* inhabited
      const { cookies, go } = yield* signedIn("athlete@example.test")
      const { send } = yield* TestServer.Service
      const [form] = formsOf(yield* go("GET", "/connect/account/applications"))
      const signOut = (origin: string) =>
        send("POST", form?.action ?? "", {
          headers: {
            origin,
            cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
            "content-type": "application/x-www-form-urlencoded"
          },
          body: urlencoded(form?.hidden ?? {})
        })
      expect((yield* signOut("https://evil.example")).status).toBe(403)
      expect((yield* signOut("https://club.example")).status).toBe(303)
    }).pipe(Effect.provide(TestServer.layer({ config: place }))))
})

const request = (path: string): Http.Request => ({
  method: "GET",
  path,
  query: "",
  headers: {},
  body: new Uint8Array(),
  address: ""
})

const platform: User.User = {
  id: User.UserId.make(1),
  role: "platform",
  email: "p@example.test",
  firstName: "",
  lastName: ""
}

const authentication = Layer.succeed(Authentication.Authentication, {
  identify: () => Effect.succeedSome({ user: platform, csrf: "x" }),
  signInUrl: () => "/sign-in",
  signOutUrl: "/sign-out"
})

describe("prompt=login at the sign-in of an embedder", () => {
  it.effect("asks it for a new sign-in, and the address to which it returns does not ask again", () =>
    Effect.gen(function*() {
      yield* inhabited
      const handler = yield* Mount.make([Pages.consent], { notFound: Pages.notFound })
      const asked = { client_id: "1", redirect_uri: "https://app.test/callback", response_type: "code", scope: "read" }
      const get = (more: Readonly<Record<string, string>>) =>
        handler({ ...request("/oauth/authorize"), query: urlencoded({ ...asked, ...more }) })
      for (
        const [prompt, given] of [["login", "login"], ["consent login", "login"], ["login login", "login"]] as const
      ) {
        const { headers, status } = yield* get({ prompt, state: "a b", login_hint: "ada@example.org" })
        expect([prompt, status]).toEqual([prompt, 303])
        const address = new URL(String(headers["location"]), "http://a.test")
        expect([prompt, address.searchParams.get("prompt")]).toEqual([prompt, given])
        const returnTo = new URL(address.searchParams.get("returnTo") ?? "", "http://a.test")
        expect(returnTo.searchParams.get("login_hint")).toBe("ada@example.org")
        expect(returnTo.searchParams.get("state")).toBe("a b")
        expect(returnTo.searchParams.has("prompt")).toBe(false)
        expect((yield* handler({ ...request(returnTo.pathname), query: returnTo.search.slice(1) })).status).toBe(200)
      }
      for (const prompt of ["none", "consent", "logins", ""]) expect((yield* get({ prompt })).status, prompt).toBe(200)
    }).pipe(Effect.provide(Layer.merge(
      TestServer.layer(),
      Layer.succeed(Authentication.Authentication, {
        identify: () => Effect.succeedSome({ user: platform, csrf: "x" }),
        signInUrl: (returnTo, prompt) => `/sign-in?${urlencoded({ returnTo, prompt: prompt ?? "" })}`,
        signOutUrl: "/sign-out"
      })
    ))))
})

describe("a choice of endpoints", () => {
  it.effect("an endpoint that is left out does not exist, and no page links to it", () =>
    Effect.gen(function*() {
      const handler = yield* Mount.make([Protocol.oauth, Pages.consent, Pages.account], { notFound: Pages.notFound })
      for (const path of ["/api/v1/webhook_subscription", "/developer/applications", "/login"]) {
        expect((yield* handler(request(path))).status, path).toBe(404)
      }
      const { body, status } = yield* handler(request("/account/applications"))
      expect(status).toBe(200)
      expect(body).toContain("href=\"/account/applications\"")
      expect(body).not.toContain("/developer/")
      const alone = yield* Mount.make([Pages.consent], { notFound: Pages.notFound })
      expect((yield* alone(request("/nowhere"))).body).not.toContain("/account/applications")
    }).pipe(Effect.provide(Layer.merge(TestServer.layer(), authentication))))

  it.effect("a later route takes the place of ours", () =>
    Effect.gen(function*() {
      const own: Router.Route = {
        path: "/account/applications",
        methods: { GET: () => Effect.succeed({ status: 200, headers: {}, body: "our own" }) },
        refuse: () => ({ status: 400, headers: {}, body: "" })
      }
      const handler = yield* Mount.make([Pages.account, Effect.succeed([own])])
      expect((yield* handler(request("/account/applications"))).body).toBe("our own")
    }).pipe(Effect.provide(Layer.merge(TestServer.layer(), authentication))))

  it.effect("a proxy may have taken the prefix away", () =>
    Effect.gen(function*() {
      const handler = yield* Mount.make([Pages.account], { prefix: "", notFound: Pages.notFound })
      const { body, status } = yield* handler(request("/account/applications"))
      expect(status).toBe(200)
      expect(body).toContain("href=\"/connect/account/applications\"")
    }).pipe(
      Effect.provide(Layer.mergeAll(TestServer.layer(), authentication, Layer.succeed(HttpConfig.HttpConfig, place)))
    ))
})

describe("templates of an embedder", () => {
  const templates: Templates.Templates.Service = {
    ...Templates.standard,
    consent: ({ action, fields, request, signedIn }) =>
      `<form action="${action}">${
        fields.map(([name]) => name).join()
      } ${request.application.name} ${request.scope.join()} ${String(signedIn.user.email)}</form>`,
    failure: ({ kind, status }) => `${status} ${kind}`,
    sources: { "style-src": "'self' https://cdn.club.example", "frame-ancestors": "*" }
  }

  it.effect("get only values that may be shown, and cannot allow other sites to frame them", () =>
    Effect.gen(function*() {
      const authorize = yield* inhabited
      const { go } = yield* signedIn("athlete@example.test")
      const { body, headers } = yield* go("GET", authorize)
      expect(body).toBe(
        "<form action=\"/connect/oauth/authorize\">client_id,redirect_uri,response_type,scope App read athlete@example.test</form>"
      )
      const policy = String(headers["content-security-policy"])
      expect(policy).toContain("style-src 'self' https://cdn.club.example;")
      expect(policy).toContain("frame-ancestors 'none'; base-uri 'none'")
      expect((yield* go("GET", "/connect/nowhere")).body).toBe("404 notFound")
      expect((yield* go("GET", "/connect/account/applications")).body).toContain("<!doctype html>")
    }).pipe(
      Effect.provide(Layer.provide(TestServer.layer({ config: place }), Layer.succeed(Templates.Templates, templates)))
    ))
})
