import { describe, expect } from "@effect/vitest"
import { Applications } from "@startlist/core"
import type { Http } from "@startlist/http"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import * as Browser from "./support/Browser.ts"
import { Service } from "./support/Service.ts"
import { TestUsers } from "@startlist/testing"
import { TestAccounts } from "@startlist/test-support/TestAccounts"
import { testing, type TestWorld } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const everyPage = (world: TestWorld) =>
  Effect.gen(function*() {
    const stranger = yield* Browser.make
    yield* world.tokens()
    return yield* Effect.all({
      login: stranger.get("/login"),
      wrongPassword: stranger.signIn("athlete@example.test", "wrong"),
      consent: world.browser.get(world.authorizeUrl()),
      roleMismatch: world.browser.get(world.authorizeUrl({ role: "club" })),
      applications: world.browser.get("/account/applications"),
      noApplications: world.platformBrowser.get("/account/applications"),
      unknownClient: world.browser.get(world.authorizeUrl({ client_id: "999" })),
      notFound: world.browser.get("/nowhere"),
      forged: world.browser.post("/account/applications/1/revoke", {})
    })
  })

/** The hash of the only script of a page as its policy must name it, and the page without this script. */
const scriptOf = (page: Http.Response) => {
  const [whole = "", text = ""] = /<script [^>]*>(.*?)<\/script>/s.exec(String(page.body)) ?? []
  return {
    policy: `sha256-${createHash("sha256").update(text).digest("base64")}`,
    others: String(page.body).replace(whole, "")
  }
}

const policyOf = (response: Http.Response) => String(response.headers["content-security-policy"])

describe("every page", () => {
  testing(
    "cannot be framed, cached or sniffed, runs our script only, and sends no referrer",
    (world) =>
      Effect.gen(function*() {
        for (const [name, page] of Object.entries(yield* everyPage(world))) {
          expect([name, page.headers]).toEqual([
            name,
            expect.objectContaining({
              "x-frame-options": "DENY",
              "referrer-policy": "no-referrer",
              "cache-control": "no-store",
              "x-content-type-options": "nosniff",
              "content-type": "text/html;charset=UTF-8"
            })
          ])
          for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "style-src 'self'"]) {
            expect(policyOf(page)).toContain(rule)
          }
          const { others, policy } = scriptOf(page)
          expect([name, policyOf(page)]).toEqual([name, expect.stringContaining(`script-src '${policy}'`)])
          expect(others).not.toMatch(/<script|<style| style=| on[a-z]+=/i)
        }
      })
  )

  testing("has a language, a title and exactly one heading of the first level", (world) =>
    Effect.gen(function*() {
      for (const [name, page] of Object.entries(yield* everyPage(world))) {
        expect([name, page.body]).toEqual([
          name,
          expect.stringMatching(/^<!doctype html><html lang="en">.*<title>.+<\/title>/s)
        ])
        expect([name, String(page.body).match(/<h1>/g)]).toEqual([name, ["<h1>"]])
      }
    }))

  testing("no page limits where the redirects lead that answer its forms", (world) =>
    Effect.gen(function*() {
      for (const [name, page] of Object.entries(yield* everyPage(world))) {
        expect([name, policyOf(page)]).toEqual([name, expect.not.stringContaining("form-action")])
      }
    }))

  testing("escapes every value that comes from outside", (world) =>
    Effect.gen(function*() {
      const hostile = "\"'><script>alert(1)</script>&lt;"
      const accounts = yield* TestAccounts
      const applications = yield* Applications.Applications
      const users = yield* TestUsers.TestUsers
      const owner = yield* users.add({ role: "platform", email: "o@example.test", firstName: "", lastName: "" })
      const { application } = yield* applications.create(owner.id, {
        name: hostile,
        redirectUris: [],
        requirePkce: false
      })
      const email = "\"><script>alert(1)</script>@example.test"
      yield* accounts.create("athlete", email)
      const browser = yield* Browser.make
      yield* browser.signIn(email)
      const url = world.authorizeUrl({
        client_id: String(application.id),
        redirect_uri: "http://localhost/\"><script>alert(1)</script>",
        state: hostile
      })
      const consent = yield* browser.get(url)
      const form = Browser.formTo("/oauth/authorize", consent)
      expect(form.hidden["state"]).toBe(hostile)
      yield* browser.post("/oauth/authorize", { ...form.hidden, decision: "allow" })
      const pages = [
        consent,
        yield* browser.get(`${url}&role=club`),
        yield* browser.get("/account/applications"),
        yield* (yield* Browser.make).signIn(email, "wrong", "/\"><script>alert(1)</script>"),
        yield* browser.get("/<script>alert(1)</script>")
      ]
      for (const page of pages) {
        expect(scriptOf(page).others).not.toContain("<script")
        expect(page.body).not.toContain("\"'>")
      }
    }))
})

describe("titles", () => {
  testing(
    "of errors and of forms with errors say so first, in the language of the page",
    (world) =>
      Effect.gen(function*() {
        const titleOf = (page: Http.Response) => /<title>(.*?)<\/title>/.exec(String(page.body))?.[1]
        for (const [name, page] of Object.entries(yield* everyPage(world))) {
          const isError = page.status >= 400
          expect([name, titleOf(page)?.startsWith("Error: ")]).toEqual([name, isError])
        }
        const page = yield* world.browser.get("/nowhere", { "accept-language": "fr" })
        expect(titleOf(page)).toBe("Erreur\u00a0: Page introuvable · Startlist")
      })
  )
})

describe("every page has a way", () => {
  testing("past its header, and home", (world) =>
    Effect.gen(function*() {
      for (const [name, page] of Object.entries(yield* everyPage(world))) {
        const body = String(page.body)
        expect([name, /<body><a class="skip" href="#main">/.test(body)]).toEqual([name, true])
        expect([name, /<main id="main"/.test(body)]).toEqual([name, true])
        expect([name, /<header><p><a href="([^"]*)"/.exec(body)?.[1]]).toEqual([name, "/account/applications"])
      }
    }))
})

describe("short addresses", () => {
  testing("lead to the pages, with their query", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      for (
        const [from, to] of [
          ["/account", "/account/applications"],
          ["/developer?a=b&c=%20", "/developer/applications?a=b&c=%20"],
          ["/login/?return_to=%2Faccount%2Fapplications", "/login?return_to=%2Faccount%2Fapplications"]
        ] as const
      ) {
        const { headers, status } = yield* browser.get(from)
        expect([from, status, headers["location"]]).toEqual([from, 303, to])
      }
    }))
})

describe("error pages", () => {
  testing("show the name of the request, if it is one", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      expect((yield* browser.get("/nowhere", { "x-request-id": "abc-42" })).body).toContain(">abc-42</code>")
      for (const name of [undefined, "<b>", "a".repeat(129)]) {
        const page = yield* browser.get("/nowhere", name === undefined ? {} : { "x-request-id": name })
        expect(page.body).not.toContain("</code>")
      }
    }))
})

describe("pages that know the page before", () => {
  testing(
    "sign-in names the application that asks, if the request is one that would be asked about",
    (world) =>
      Effect.gen(function*() {
        const sentence = "Race Planner asks for access to your account."
        const cases = [
          [world.authorizeUrl(), true],
          [world.authorizeUrl({ redirect_uri: "https://elsewhere.test/" }), false],
          [world.authorizeUrl({ scope: "unknown" }), false],
          ["/oauth/authorize?%", false],
          ["/account/applications", false]
        ] as const
        for (const [returnTo, isNamed] of cases) {
          const stranger = yield* Browser.make
          const page = yield* stranger.get(`/login?${Browser.urlencoded({ return_to: returnTo })}`)
          expect([returnTo, page.status, String(page.body).includes(sentence)]).toEqual([returnTo, 200, isNamed])
        }
      })
  )

  testing("consent says whether the user allowed this before", (world) =>
    Effect.gen(function*() {
      const isSaid = Effect.map(
        world.browser.get(world.authorizeUrl()),
        ({ body }) => String(body).includes("You have allowed Race Planner before.")
      )
      expect(yield* isSaid).toBe(false)
      yield* world.tokens()
      expect(yield* isSaid).toBe(true)
    }))

  testing("the page after a revocation confirms it, and no other", (world) =>
    Effect.gen(function*() {
      const { browser, client } = world
      yield* world.tokens()
      const path = "/account/applications"
      const page = yield* browser.get(path)
      const notice = "Race Planner no longer has access to your account."
      expect(page.body).not.toContain(notice)
      const form = Browser.formTo(`${path}/${client.client_id}/revoke`, page)
      const { headers } = yield* browser.post(form.action, form.hidden)
      const next = String(headers["location"])
      expect((yield* browser.get(next)).body).toContain(notice)
      // A link from elsewhere says nothing about what was not done.
      const forged = [next.replace("Race", "Face"), next.replace(/proof=.*/, ""), `${path}?notice=toString&about=x`]
      for (const link of forged) expect((yield* browser.get(link)).body).not.toContain("role=\"status\"")
      expect((yield* world.platformBrowser.get(next)).body).not.toContain("role=\"status\"")
    }))
})

describe("pages are compressed", () => {
  const encodingOf = ({ headers }: Http.Response) => headers["content-encoding"]
  const gzip = { "accept-encoding": "br, gzip" }

  testing("for those who accept gzip, errors too; what is sent is the same", (world) =>
    Effect.gen(function*() {
      const stranger = yield* Browser.make
      for (const target of ["/nowhere", "/login"]) {
        const { cookies } = stranger
        cookies.clear()
        const page = yield* stranger.get(target, gzip)
        expect([target, encodingOf(page)]).toEqual([target, "gzip"])
        expect(String(page.headers["vary"])).toContain("Accept-Encoding")
        expect(gunzipSync(Buffer.from(page.body)).toString()).toContain("<!doctype html>")
      }
      const own = { ...gzip, "sec-fetch-site": "same-origin" }
      const page = yield* world.browser.get("/account/applications", own)
      const plain = yield* world.browser.get("/account/applications")
      expect(encodingOf(page)).toBe("gzip")
      expect(gunzipSync(Buffer.from(page.body)).toString()).toBe(plain.body)
    }))

  testing(
    "but not those of a signed-in user that another site may have asked for (BREACH)",
    (world) =>
      Effect.gen(function*() {
        for (const site of ["cross-site", "same-site", undefined]) {
          const headers = site === undefined ? gzip : { ...gzip, "sec-fetch-site": site }
          expect([site, encodingOf(yield* world.browser.get(world.authorizeUrl(), headers))]).toEqual([site, undefined])
        }
      })
  )
})

describe("the language of a page", () => {
  const languageOf = (page: Http.Response) => /<html lang="(..)"/.exec(String(page.body))?.[1]

  testing("is what Accept-Language prefers, else English", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["", "en"],
        ["fr", "fr"],
        ["fr-CA,en;q=0.8", "fr"],
        ["de, en;q=0.5, fr;q=0.9", "fr"],
        ["en-GB,fr", "en"],
        ["de,*", "en"],
        ["fr;q=x", "en"],
        ["fr;q=0", "en"]
      ]
      for (const [accept, language] of cases) {
        const page = yield* browser.get("/login", { "accept-language": accept })
        expect([accept, languageOf(page)]).toEqual([accept, language])
      }
    }))

  testing("can be switched on every page, and the choice is kept", (world) =>
    Effect.gen(function*() {
      const { browser } = world
      const link = (page: Http.Response) =>
        (/href="(\/language\?locale=fr[^"]*)"/.exec(String(page.body))?.[1] ?? "").replaceAll("&amp;", "&")
      const url = world.authorizeUrl({ state: "s&locale=x", locale: "en" })
      const switched = yield* browser.get(link(yield* browser.get(url)))
      const back = String(switched.headers["location"])
      expect(back).toBe(url.replace("locale=en", "locale=fr"))
      expect(languageOf(yield* browser.get(back))).toBe("fr")
      expect(languageOf(yield* browser.get("/account/applications", { "accept-language": "en" }))).toBe("fr")
    }))

  testing("of the login page is that of the page to which it leads", (world) =>
    Effect.gen(function*() {
      const stranger = yield* Browser.make
      const redirect = yield* stranger.get(world.authorizeUrl({ locale: "fr" }))
      expect(languageOf(yield* stranger.get(String(redirect.headers["location"])))).toBe("fr")
    }))
})

describe("when the store is down", () => {
  testing("pages say so with 503 and Retry-After", (world) =>
    Effect.gen(function*() {
      const { switches } = yield* Service
      switches.storeIsDown = true
      for (const target of [world.authorizeUrl(), "/account/applications"]) {
        const page = yield* world.browser.get(target)
        expect([target, page.status, page.headers["retry-after"]]).toEqual([target, 503, expect.any(String)])
      }
    }))
})

describe("redirects", () => {
  testing("after a form are 303, never 302 or 307 (RFC 9700 §4.12)", (world) =>
    Effect.gen(function*() {
      const response = yield* world.decide("allow")
      expect(response.status).toBe(303)
      expect(response.headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "no-referrer" })
      expect(World.redirectOf(response).query).toHaveProperty("code")
    }))
})
