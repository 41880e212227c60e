import { describe, expect } from "@effect/vitest"
import { Policy } from "@startlist/core"
import { Effect } from "effect"
import * as Browser from "./support/Browser.ts"
import { testing, type TestWorld } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

describe("GET /oauth/authorize (requirements §4.1)", () => {
  testing("shows who asks, for whom, for what, and two buttons", (world) =>
    Effect.gen(function*() {
      const page = yield* world.browser.get(world.authorizeUrl({ scope: "profile:read write" }))
      expect(page.status).toBe(200)
      for (const text of ["Race Planner", "app.test", "athlete@example.test", "see your profile", "profile:read"]) {
        expect(page.body).toContain(text)
      }
      expect(page.body).toContain(`name="decision" value="allow"`)
      expect(page.body).toContain(`name="decision" value="deny"`)
    }))

  testing(
    "sends someone who is not signed in to sign in and back, and the request survives it",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        const url = world.authorizeUrl({ scope: "read+write", state: "a&b=c", role: "athlete" })
        const redirect = World.redirectOf(yield* stranger.get(url))
        expect(redirect.address).toBe("/login")
        const signedIn = yield* stranger.signIn("athlete@example.test", undefined, redirect.query["return_to"])
        expect(signedIn.status).toBe(303)
        const page = yield* stranger.get(String(signedIn.headers["location"]))
        expect(Browser.formTo("/oauth/authorize", page).hidden).toMatchObject({ scope: "read+write", state: "a&b=c" })
      })
  )

  testing("allows in French and English by locale, and says so in lang", (world) =>
    Effect.gen(function*() {
      const french = yield* world.browser.get(world.authorizeUrl({ locale: "fr" }))
      expect(french.body).toContain("<html lang=\"fr\">")
      expect(french.body).toContain("Autoriser")
      const english = yield* world.browser.get(world.authorizeUrl({ locale: "en" }), { "accept-language": "fr" })
      expect(english.body).toContain("<html lang=\"en\">")
    }))

  testing(
    "explains a role that the user does not have, offers to switch account, and the way back",
    (world) =>
      Effect.gen(function*() {
        const url = world.authorizeUrl({ role: "organizer", state: "s" })
        const page = yield* world.browser.get(url)
        expect(page.status).toBe(200)
        expect(page.body).toContain("organizer")
        const logout = Browser.formsOf(page).find(({ hidden }) => hidden["return_to"]?.startsWith("/oauth/authorize?"))
        const left = yield* world.browser.post("/logout", logout?.hidden ?? {})
        expect(World.redirectOf(yield* world.browser.get(String(left.headers["location"]))).address).toBe("/login")
      })
  )

  testing("a decision to allow with the wrong role grants nothing", (world) =>
    Effect.gen(function*() {
      const page = yield* world.browser.get(world.authorizeUrl({ role: "organizer" }))
      const { hidden } = Browser.formTo("/oauth/authorize", page)
      expect((yield* world.browser.post("/oauth/authorize", { ...hidden, decision: "allow" })).status).toBe(403)
      const denied = yield* world.browser.post("/oauth/authorize", { ...hidden, decision: "deny" })
      expect(World.redirectOf(denied).query["error"]).toBe("access_denied")
    }))

  testing(
    "the user sees an unknown client and a bad redirect URI, and is never redirected",
    (world) =>
      Effect.gen(function*() {
        const bad: ReadonlyArray<Browser.Fields> = [
          { client_id: "999" },
          { client_id: "1e3" },
          { client_id: "" },
          { redirect_uri: "" },
          { redirect_uri: "https://evil.test/callback" },
          { redirect_uri: `${World.redirectUri}/` },
          { redirect_uri: "http://localhost.evil.test/" },
          { redirect_uri: "http://localhost@evil.test/" },
          { redirect_uri: "http://127.0.0.1/#fragment" },
          { redirect_uri: "https://localhost.evil.test/" },
          { redirect_uri: "https://localhost@evil.test/" },
          { redirect_uri: "javascript:alert(1)" }
        ]
        for (const parameters of bad) {
          const page = yield* world.browser.get(world.authorizeUrl(parameters))
          expect([parameters, page.status, page.headers["location"]]).toEqual([parameters, 400, undefined])
          expect(page.headers["content-type"]).toMatch(/^text\/html/)
        }
      })
  )

  testing(
    "localhost, 127.0.0.1 and [::1] are allowed unregistered, by http and https, on any port and path",
    (world) =>
      Effect.gen(function*() {
        const loopback = ["http://localhost:3000/cb", "http://127.0.0.1/", "http://[::1]:8/x?y=z"]
        for (const uri of [...loopback, ...loopback.map((uri) => uri.replace("http:", "https:"))]) {
          const { address } = World.redirectOf(yield* world.decide("allow", { redirect_uri: uri }))
          expect(uri.startsWith(address)).toBe(true)
        }
      })
  )

  testing("the strict profile allows no unregistered loopback address", (world) =>
    Effect.gen(function*() {
      const page = yield* world.browser.get(world.authorizeUrl({ redirect_uri: "http://localhost:3000/cb" }))
      expect(page.status).toBe(400)
    }), { policy: Policy.rfc })

  testing(
    "the strict profile tells the application of a mistake only when the user has signed in (RFC 9700 §4.11.2)",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        const url = `${world.authorizeUrl({ scope: "everything", state: "s" })}&role=athlete&role=club`
        const redirect = World.redirectOf(yield* stranger.get(url))
        expect(redirect).toEqual({ address: "/login", query: { return_to: url } })
        expect(World.redirectOf(yield* world.browser.get(url)).query).toMatchObject({
          error: "invalid_request",
          state: "s"
        })
      }),
    { policy: Policy.rfc }
  )

  testing("the documented profile redirects with the mistake before sign-in", (world) =>
    Effect.gen(function*() {
      const stranger = yield* Browser.make
      const redirect = World.redirectOf(yield* stranger.get(world.authorizeUrl({ scope: "everything" })))
      expect([redirect.address, redirect.query["error"]]).toEqual([World.redirectUri, "invalid_scope"])
    }))

  testing("tells the application of all other mistakes by redirect, with state", (world) =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Browser.Fields, string]> = [
        [{ response_type: "" }, "invalid_request"],
        [{ response_type: "token" }, "unsupported_response_type"],
        [{ scope: "" }, "invalid_scope"],
        [{ scope: "everything" }, "invalid_scope"],
        [{ role: "king" }, "invalid_request"],
        [{ code_challenge: challenge }, "invalid_request"],
        [{ code_challenge: challenge, code_challenge_method: "plain" }, "invalid_request"],
        [{ code_challenge: "short", code_challenge_method: "S256" }, "invalid_request"],
        [{ code_challenge_method: "S256" }, "invalid_request"]
      ]
      for (const [parameters, error] of cases) {
        const { address, query } = World.redirectOf(
          yield* world.browser.get(world.authorizeUrl({ state: "s", ...parameters }))
        )
        expect([parameters, address, query]).toEqual([parameters, World.redirectUri, {
          error,
          error_description: expect.any(String),
          state: "s"
        }])
      }
    }))

  testing(
    "a repeated parameter is invalid_request by redirect; a repeated client_id or redirect_uri is shown to the user",
    (world) =>
      Effect.gen(function*() {
        for (const name of ["scope", "role", "locale", "response_type"]) {
          const url = `${world.authorizeUrl({ state: "s", role: "athlete", locale: "en" })}&${name}=write`
          expect(World.redirectOf(yield* world.browser.get(url)).query).toEqual({
            error: "invalid_request",
            error_description: `${name} appears more than once. Send it once.`,
            state: "s"
          })
        }
        const states = yield* world.browser.get(`${world.authorizeUrl({ state: "s" })}&state=s`)
        expect(World.redirectOf(states).query).toEqual({
          error: "invalid_request",
          error_description: "state appears more than once. Send it once."
        })
        for (const name of ["client_id", "redirect_uri"]) {
          const page = yield* world.browser.get(`${world.authorizeUrl()}&${name}=1`)
          expect([page.status, page.body]).toEqual([400, expect.stringContaining(`(${name}) more than once`)])
        }
      })
  )

  testing(
    "a parameter without a value is no repetition, and a state without any value is returned empty",
    (world) =>
      Effect.gen(function*() {
        const url = world.authorizeUrl({ state: "s" })
        const page = yield* world.browser.get(`${url}&scope=&client_id=&redirect_uri&state=`)
        expect([page.status, Browser.formTo("/oauth/authorize", page).hidden["state"]]).toEqual([200, "s"])
        for (const [query, state] of [["&state=&state", ""], ["&state=&state=s", "s"]]) {
          const refused = yield* world.browser.get(`${world.authorizeUrl({ scope: "everything" })}${query}`)
          expect(World.redirectOf(refused).query).toMatchObject({ error: "invalid_scope", state })
        }
      })
  )

  testing("PKCE can be required for an application", (world) =>
    Effect.gen(function*() {
      const { client_id } = yield* world.register("Strict", true)
      const without = yield* world.browser.get(world.authorizeUrl({ client_id }))
      expect(World.redirectOf(without).query["error"]).toBe("invalid_request")
      const withIt = world.authorizeUrl({ client_id, code_challenge: challenge, code_challenge_method: "S256" })
      expect((yield* world.browser.get(withIt)).status).toBe(200)
    }))

  testing("scope=read+write un-encoded decodes to read write", (world) =>
    Effect.gen(function*() {
      const page = yield* world.browser.get(world.authorizeUrl().replace("scope=read", "scope=read+write"))
      expect(Browser.formTo("/oauth/authorize", page).hidden["scope"]).toBe("read write")
    }))

  testing("names the scope that is not known, and says what separates scopes", (world) =>
    Effect.gen(function*() {
      const describedAs: Readonly<Record<string, string>> = {
        "read,write": "read,write is not a known scope. Separate scopes with spaces.",
        "read everything": "everything is not a known scope. Separate scopes with spaces.",
        "r\u00e9ad": "a requested scope is not a known scope. Separate scopes with spaces.",
        "say\"": "a requested scope is not a known scope. Separate scopes with spaces."
      }
      for (const [scope, error_description] of Object.entries(describedAs)) {
        const { query } = World.redirectOf(yield* world.browser.get(world.authorizeUrl({ scope })))
        expect(query).toEqual({ error: "invalid_scope", error_description })
      }
    }))

  testing("takes the response mode query, and refuses every other one", (world) =>
    Effect.gen(function*() {
      expect(World.redirectOf(yield* world.decide("allow", { response_mode: "query" })).query["code"]).toBeDefined()
      for (const response_mode of ["fragment", "form_post", "query.jwt", "QUERY"]) {
        const url = world.authorizeUrl({ response_mode, state: "s" })
        expect(World.redirectOf(yield* world.browser.get(url)).query).toEqual({
          error: "invalid_request",
          error_description: "response_mode must be query",
          state: "s"
        })
      }
    }))
})

describe("state", () => {
  const long = "a/b+c=d&".repeat(300)
  const signsIn = (url: string) =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const { query } = World.redirectOf(yield* browser.get(url))
      const signedIn = yield* browser.signIn("athlete@example.test", undefined, query["return_to"])
      const page = yield* browser.get(String(signedIn.headers["location"]))
      const { action, hidden } = Browser.formTo("/oauth/authorize", page)
      return yield* browser.post(action, { ...hidden, decision: "allow" })
    })
  const states = [
    ["empty", ""],
    ["of 10 000 characters", "x".repeat(10_000)],
    ["of any signs", long],
    ["of several lines", "\na\rb\r\nc&d=é\n"]
  ]

  for (const [what, state] of states) {
    testing(
      `that is ${what} is returned in the redirect and at the exchange, through sign-in, and when refused`,
      (world) =>
        Effect.gen(function*() {
          const { query } = World.redirectOf(yield* signsIn(world.authorizeUrl({ state: state ?? "" })))
          expect(query["state"]).toBe(state)
          expect(World.tokensOf(yield* world.exchange(query["code"] ?? "")).state).toBe(state)
          const denied = yield* world.decide("deny", { state: state ?? "" })
          expect(World.redirectOf(denied).query).toMatchObject({ error: "access_denied", state })
          const wrong = yield* world.browser.get(world.authorizeUrl({ state: state ?? "", scope: "everything" }))
          expect(World.redirectOf(wrong).query).toMatchObject({ error: "invalid_scope", state })
        })
    )
  }

  testing("that is absent is not returned", (world) =>
    Effect.gen(function*() {
      const { query } = World.redirectOf(yield* world.decide("allow"))
      expect(Object.keys(query)).toEqual(["code", "scope"])
      expect(World.tokensOf(yield* world.exchange(query["code"] ?? ""))).not.toHaveProperty("state")
    }))

  testing(
    "that is too long to be carried through sign-in is refused on a page of ours, signed in or not",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        for (const state of ["x".repeat(12_289), "+".repeat(2_458)]) {
          for (const browser of [stranger, world.browser]) {
            const page = yield* browser.get(world.authorizeUrl({ state }))
            expect([page.status, page.headers["location"], page.headers["content-type"]])
              .toEqual([414, undefined, "text/html;charset=UTF-8"])
          }
        }
      })
  )

  testing(
    "that is too long with a mistake is refused there in the strict profile, too",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        const url = world.authorizeUrl({ scope: "everything", state: "x".repeat(12_289) })
        expect((yield* stranger.get(url)).status).toBe(414)
      }),
    { policy: Policy.rfc }
  )
})

describe("a decision without a session", () => {
  const post = (world: TestWorld, fields: Browser.Fields) =>
    Effect.gen(function*() {
      const stranger = yield* Browser.make
      const known = Object.fromEntries(new URL(world.authorizeUrl(), "http://x.test").searchParams)
      return yield* stranger.post("/oauth/authorize", { ...known, decision: "allow", ...fields })
    })

  testing("is checked like a visit before sign-in: length, client and redirect URI", (world) =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Browser.Fields, number]> = [
        [{ state: "x".repeat(12_289) }, 414],
        [{ client_id: "999" }, 400],
        [{ redirect_uri: "https://evil.test/callback" }, 400]
      ]
      for (const [fields, status] of cases) {
        const { headers, status: answered } = yield* post(world, fields)
        expect([answered, headers["location"]]).toEqual([status, undefined])
      }
    }))

  testing(
    "with a mistake leads to sign-in in the strict profile, unless it is too long",
    (world) =>
      Effect.gen(function*() {
        const wrong = { scope: "everything" }
        expect(World.redirectOf(yield* post(world, wrong)).address).toBe("/login")
        expect((yield* post(world, { ...wrong, state: "x".repeat(12_289) })).status).toBe(414)
      }),
    { policy: Policy.rfc }
  )
})
