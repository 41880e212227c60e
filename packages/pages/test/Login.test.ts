import { describe, expect } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as Browser from "./support/Browser.ts"
import { Service } from "./support/Service.ts"
import { TestAccounts } from "@startlist/test-support/TestAccounts"
import { testing } from "./support/Testing.ts"

const email = "athlete@example.test"

describe("/login", () => {
  testing("signs in with the right password and goes where the visitor came from", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const response = yield* browser.signIn(email, undefined, "/account/applications?x=1")
      expect(response).toMatchObject({ status: 303, headers: { location: "/account/applications?x=1" } })
      expect((yield* browser.get("/account/applications")).body).toContain(email)
      expect((yield* browser.get("/login")).status).toBe(303)
    }))

  testing("the e-mail address is taken in any case", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      expect((yield* browser.signIn(" ATHLETE@example.test ", `password of ${email}`)).status).toBe(303)
    }))

  testing(
    "a wrong password and an unknown address get the same page, with the address kept and no password",
    () =>
      Effect.gen(function*() {
        const browser = yield* Browser.make
        const wrong = yield* browser.signIn(email, "hunter2")
        const unknown = yield* browser.signIn("nobody@example.test", "hunter2")
        expect([wrong.status, unknown.status]).toEqual([403, 403])
        expect(String(wrong.body).replaceAll(email, "E")).toBe(
          String(unknown.body).replaceAll("nobody@example.test", "E")
        )
        expect(wrong.body).toContain("role=\"alert\"")
        expect(wrong.body).not.toContain("hunter2")
        expect((yield* browser.get("/account/applications")).status).toBe(303)
      })
  )

  testing("a missing address or password is named", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const { hidden } = Browser.formTo("/login", yield* browser.get("/login"))
      expect((yield* browser.post("/login", { ...hidden, password: "x" })).status).toBe(422)
      expect((yield* browser.post("/login", { ...hidden, email })).status).toBe(422)
    }))

  testing("a form of an earlier session signs in if the browser says that it is ours", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const credentials = { email, password: `password of ${email}`, return_to: "/account/security" }
      const { hidden } = Browser.formTo("/login", yield* browser.get("/login"))
      const post = (site?: string) =>
        browser.post("/login", { ...hidden, ...credentials }, site === undefined ? {} : { "sec-fetch-site": site })
      // Another tab that was restored at the same time has replaced the cookie.
      browser.cookies.clear()
      yield* browser.get("/login")
      for (const site of [undefined, "same-site", "none", "cross-site"]) {
        expect([site, (yield* post(site)).status]).toEqual([site, 403])
      }
      expect(yield* post("same-origin")).toMatchObject({ status: 303, headers: { location: "/account/security" } })
      // Now somebody is signed in, so an older form leads on, whatever it contains.
      for (const site of [undefined, "same-site", "same-origin"]) {
        expect(yield* post(site)).toMatchObject({ status: 303, headers: { location: "/account/security" } })
      }
      expect((yield* browser.get("/account/security")).status).toBe(200)
    }))

  testing(
    "a form of an earlier session of the same user does its work, and that of another user changes nothing",
    () =>
      Effect.gen(function*() {
        const browser = yield* Browser.make
        const sameOrigin = { "sec-fetch-site": "same-origin" }
        yield* browser.signIn(email)
        const old = Browser.formTo("/account/security/sessions", yield* browser.get("/account/security")).hidden
        const sent = (headers: {}) => browser.post("/account/security/sessions", { ...old, session: "others" }, headers)
        yield* browser.post("/logout", old)
        yield* browser.signIn("organizer@example.test")
        expect((yield* sent(sameOrigin)).status).toBe(403)
        yield* browser.post("/logout", old, sameOrigin)
        yield* browser.signIn(email)
        expect((yield* sent({})).status).toBe(403)
        expect((yield* sent({ ...sameOrigin, origin: "https://evil.test" })).status).toBe(403)
        expect((yield* sent(sameOrigin)).status).toBe(303)
      })
  )

  testing(
    "a forged form signs nobody in: no token, another browser's, no cookie, a foreign origin",
    () =>
      Effect.gen(function*() {
        const browser = yield* Browser.make
        const other = yield* Browser.make
        const credentials = { email, password: `password of ${email}` }
        const { hidden } = Browser.formTo("/login", yield* browser.get("/login"))
        const foreign = Browser.formTo("/login", yield* other.get("/login")).hidden
        const stranger = yield* Browser.make
        const attempts = [
          browser.post("/login", credentials),
          browser.post("/login", { ...foreign, ...credentials }),
          stranger.post("/login", { ...hidden, ...credentials }),
          browser.post("/login", { ...hidden, ...credentials }, { origin: "https://evil.test" })
        ]
        for (const attempt of attempts) expect((yield* attempt).status).toBe(403)
        expect((yield* browser.get("/account/applications")).status).toBe(303)
        expect((yield* browser.post("/login", { ...hidden, ...credentials })).status).toBe(303)
      })
  )

  testing("the session gets a new value at the login, and the old one is worth nothing", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      yield* browser.get("/login")
      const before = browser.cookies.get("startlist_session")
      yield* browser.signIn(email)
      expect(browser.cookies.get("startlist_session")).not.toBe(before)
      const { send } = yield* Service
      const planted = yield* send("GET", "/account/applications", {
        headers: { cookie: `startlist_session=${before}` }
      })
      expect(planted.status).toBe(303)
    }))

  testing(
    "after ten wrong passwords from one address: 429 with Retry-After, for the right one too, until the time is over",
    () =>
      Effect.gen(function*() {
        const browser = yield* Browser.make
        yield* Effect.replicateEffect(browser.signIn(email, "wrong"), 10, { discard: true })
        const blocked = yield* browser.signIn(email)
        expect(blocked.status).toBe(429)
        expect(Number(blocked.headers["retry-after"])).toBeGreaterThan(0)
        expect((yield* browser.signIn("platform@example.test")).status).toBe(303)
        const fresh = yield* Browser.make
        yield* TestClock.adjust("5 minutes")
        expect((yield* fresh.signIn(email)).status).toBe(303)
      })
  )

  testing(
    "a browser that signed in before has attempts of its own, also from the network of the guesses",
    () =>
      Effect.gen(function*() {
        const known = yield* Browser.make
        yield* known.signIn(email)
        known.cookies.delete("startlist_session")
        const guesser = yield* Browser.make
        yield* Effect.replicateEffect(guesser.signIn(email, "wrong"), 11, { discard: true })
        expect((yield* guesser.signIn(email)).status).toBe(429)
        for (let i = 0; i < 10; i++) expect((yield* known.signIn(email, "wrong")).status).toBe(403)
        expect((yield* known.signIn(email)).status).toBe(429)
        yield* TestClock.adjust("5 minutes")
        expect((yield* known.signIn(email)).status).toBe(303)
      })
  )

  testing("the device cookie of one account says nothing about another one", () =>
    Effect.gen(function*() {
      const guesser = yield* Browser.make
      yield* guesser.signIn("platform@example.test")
      guesser.cookies.delete("startlist_session")
      yield* Effect.replicateEffect(guesser.signIn(email, "wrong"), 10, { discard: true })
      guesser.cookies.delete("startlist_device")
      expect((yield* guesser.signIn(email)).status).toBe(429)
    }))

  testing("a burst of parallel guesses gets no more attempts than the limit", () =>
    Effect.gen(function*() {
      const { passwordChecks } = yield* TestAccounts
      const browser = yield* Browser.make
      const before = passwordChecks()
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => browser.signIn(email, "wrong")),
        { concurrency: "unbounded" }
      )
      const checked = passwordChecks() - before
      expect(checked).toBeLessThanOrEqual(10)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(50 - checked)
    }))

  testing(
    "at most two passwords of an account are checked at the same time, whatever the browser",
    () =>
      Effect.gen(function*() {
        const { passwordChecks } = yield* TestAccounts
        const [first, ...others] = [yield* Browser.make, ...(yield* Effect.replicateEffect(Browser.make, 11))]
        const browsers = [first, ...others]
        for (const browser of browsers) {
          yield* browser.signIn(email)
          browser.cookies.delete("startlist_session")
          yield* TestClock.adjust("1 minute")
        }
        const before = passwordChecks()
        const answers = yield* Effect.forEach(browsers, ({ signIn }) => signIn(email), { concurrency: "unbounded" })
        const refused = answers.filter(({ status }) => status === 429)
        expect(passwordChecks() - before).toBe(12 - refused.length)
        expect(refused.length).toBeGreaterThan(0)
        expect(new Set(refused.map(({ headers }) => headers["retry-after"]))).toEqual(new Set(["1"]))
        first.cookies.delete("startlist_session")
        expect((yield* first.signIn(email)).status, "the next one").toBe(303)
      })
  )

  testing(
    "a guess whose sender disconnects counts as a wrong password, and not as a sign-in of the account",
    () =>
      Effect.gen(function*() {
        const { passwordChecks } = yield* TestAccounts
        const [browser, stranger] = [yield* Browser.make, yield* Browser.make]
        yield* TestClock.adjust("1 minute")
        const signInAgain = Effect.tap(
          browser.signIn(email),
          () => Effect.sync(() => browser.cookies.delete("startlist_session"))
        )
        yield* signInAgain
        for (let turns = 0; turns < 60; turns++) {
          const guess = yield* Effect.fork(stranger.signIn(email, "wrong"))
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow()
          yield* Fiber.interrupt(guess)
        }
        expect((yield* stranger.signIn(email, "wrong")).status, "its attempts are used up").toBe(429)
        const before = passwordChecks()
        for (let i = 1; i < 20; i++) expect((yield* signInAgain).status).toBe(303)
        expect(passwordChecks() - before).toBe(19)
      })
  )

  testing(
    "right passwords of an account are limited to twenty a minute, and wrong ones do not use them up",
    () =>
      Effect.gen(function*() {
        const [browser, stranger] = [yield* Browser.make, yield* Browser.make]
        yield* TestClock.adjust("1 minute")
        const signInAgain = Effect.tap(
          browser.signIn(email),
          () => Effect.sync(() => browser.cookies.delete("startlist_session"))
        )
        yield* signInAgain
        yield* Effect.replicateEffect(stranger.signIn(email, "wrong"), 15, { discard: true })
        for (let i = 1; i < 20; i++) expect([i, (yield* signInAgain).status]).toEqual([i, 303])
        const refused = yield* browser.signIn(email)
        expect([refused.status, Number(refused.headers["retry-after"])]).toEqual([429, 60])
        expect((yield* stranger.signIn("platform@example.test")).status).toBe(303)
        yield* TestClock.adjust("1 minute")
        expect((yield* browser.signIn(email)).status).toBe(303)
      })
  )

  testing(
    "a session can be recognized: browser, system and network, but not the whole User-Agent",
    (world) =>
      Effect.gen(function*() {
        const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
        const other = yield* Browser.make
        const page = yield* other.get("/login")
        const fields = { email: "athlete@example.test", password: "password of athlete@example.test" }
        yield* other.post("/login", { ...Browser.formTo("/login", page).hidden, ...fields }, {
          "user-agent": userAgent
        })
        const shown = String((yield* world.browser.get("/account/security")).body)
        expect(shown).toMatch(/Firefox, Linux .*End session/)
        expect(shown).toMatch(/Unknown browser .*This browser/)
        expect(shown).toContain("<div>192.0.2.1</div>")
        expect(shown).not.toContain("Gecko")
      })
  )

  testing("logins, failed ones too, and logouts are recorded without the password", () =>
    Effect.gen(function*() {
      const { audit } = yield* Service
      const browser = yield* Browser.make
      yield* browser.signIn(email, "wrong secret")
      yield* browser.signIn(email)
      const page = yield* browser.get("/account/applications")
      yield* browser.post("/logout", Browser.formTo("/logout", page).hidden)
      expect(audit.map(({ action }) => action).slice(-3)).toEqual(["login_failed", "login", "logout"])
      expect(JSON.stringify(audit)).not.toContain("wrong secret")
    }))

  testing(
    "a failed sign-in records the account, if there is one, and no text: it may be a password",
    () =>
      Effect.gen(function*() {
        const { audit } = yield* Service
        const browser = yield* Browser.make
        for (
          const typed of ["correct horse", "p@ssphrase", `${"x".repeat(300)}@example.test`, "ATHLETE@example.test"]
        ) {
          expect((yield* browser.signIn(typed, "wrong")).status).toBe(403)
        }
        const failed = audit.slice(-4)
        expect(failed.map(({ actor }) => actor._tag)).toEqual(["Unknown", "Unknown", "Unknown", "Unknown"])
        expect(failed.map(({ subject }) => subject._tag)).toEqual(["Unknown", "Unknown", "Unknown", "User"])
      })
  )

  testing("an open redirect by return_to is impossible", () =>
    Effect.gen(function*() {
      const evil = [
        "https://evil.test/",
        "//evil.test/",
        "/\\evil.test/",
        "\\\\evil.test",
        "/\t/evil.test",
        "/\n/evil.test",
        "javascript:alert(1)",
        "evil.test",
        "/x\\..\\y",
        "/é",
        `/${"x".repeat(13_000)}`,
        ""
      ]
      for (const returnTo of evil) {
        const browser = yield* Browser.make
        const response = yield* browser.signIn(email, undefined, returnTo)
        expect([returnTo, response.headers["location"]]).toEqual([returnTo, "/account/applications"])
        const signedIn = yield* browser.get(`/login?${Browser.urlencoded({ return_to: returnTo })}`)
        expect(signedIn.headers["location"]).toBe("/account/applications")
        const language = yield* browser.get(`/language?${Browser.urlencoded({ locale: "fr", return_to: returnTo })}`)
        expect(language.headers["location"]).toBe("/account/applications")
        const page = yield* browser.get("/account/applications")
        const { hidden } = Browser.formTo("/logout", page)
        const left = yield* browser.post("/logout", { ...hidden, return_to: returnTo })
        expect(left.headers["location"]).toBe("/login")
      }
    }))
})

describe("/logout", () => {
  testing("ends the session immediately", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      yield* browser.signIn(email)
      const session = browser.cookies.get("startlist_session")
      const page = yield* browser.get("/account/applications")
      expect((yield* browser.post("/logout", Browser.formTo("/logout", page).hidden)).status).toBe(303)
      expect(browser.cookies.has("startlist_session")).toBe(false)
      browser.cookies.set("startlist_session", String(session))
      expect((yield* browser.get("/account/applications")).status).toBe(303)
    }))

  testing("a forged form signs nobody out", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      yield* browser.signIn(email)
      expect((yield* browser.post("/logout", { csrf: "x" })).status).toBe(403)
      expect((yield* browser.get("/account/applications")).status).toBe(200)
    }))
})

describe("the session cookie", () => {
  testing(
    "is HttpOnly and SameSite=Lax; over https also Secure, with the __Host- prefix",
    () =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const response = yield* send("GET", "/login")
        const cookie = String(response.headers["set-cookie"])
        expect(cookie).toMatch(/^__Host-startlist_session=[^;]+; /)
        for (const attribute of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]) expect(cookie).toContain(attribute)
      }),
    { config: { authUrl: "https://auth.test" } }
  )
})
