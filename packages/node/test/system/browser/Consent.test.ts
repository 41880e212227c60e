/** Consent in a real browser without JavaScript, with an application at another origin. */
import { describe, expect, layer } from "@effect/vitest"
import { OAuth } from "@startlist/core/OAuth"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { isMissing } from "@startlist/test-support/Chromium"
import { openAs, press, signInHere } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import { authorizeUrl } from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import { inBrowser, type Scene } from "./support/Testing.ts"

/** An athlete, and an application without grants. */
const prepare = ({ name, site }: Scene) =>
  site.run(Effect.gen(function*() {
    const athlete = yield* Story.createUser("athlete", `athlete-${name}@example.org`)
    const owner = yield* Story.createUser("platform", `owner-${name}@example.org`)
    const { application } = yield* Story.register(owner, `Race ${name}`, [site.app.redirectUri])
    return { application, athlete }
  }))

const languages = [
  { locale: "en", allow: "Allow", deny: "Do not allow", wrong: "is incorrect", wait: "Try again in 5 minutes" },
  { locale: "fr", allow: "Autoriser", deny: "Ne pas autoriser", wrong: "est incorrect", wait: "dans 5 minutes" }
] as const

/** The present page at the application. */
const arrival = async (page: Page, { site }: Scene): Promise<URL> => {
  await page.waitForURL(`${site.app.url}/**`)
  return new URL(page.url())
}

const authorizedNames = ({ site }: Scene, user: Parameters<OAuth.Service["authorized"]>[0]) =>
  site.run(Effect.gen(function*() {
    const oauth = yield* OAuth
    return (yield* oauth.authorized(user)).map(({ application }) => application.name)
  }))

describe.skipIf(isMissing)("consent in Chromium (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    for (const { allow, deny, locale, wait, wrong } of languages) {
      it.effect(
        `${locale}: Allow leads to the application at another origin, with code, scope and state`,
        inBrowser({ locale }, async (scene) => {
          const { application, athlete } = await prepare(scene)
          const { page, site } = scene
          await openAs(page, site, athlete.email, authorizeUrl(site, application, { state: "s p/é&=<\n" }))
          expect(await page.locator("html").getAttribute("lang")).toBe(locale)
          await press(page, allow)
          const { pathname, searchParams } = await arrival(page, scene)
          expect(pathname).toBe("/callback")
          expect(Object.fromEntries(searchParams)).toEqual({
            code: expect.stringMatching(/^sl_ac_/),
            scope: "profile:read read+write",
            state: "s p/é&=<\n"
          })
          expect(await authorizedNames(scene, athlete.id)).toEqual([application.name])
        })
      )

      it.effect(
        `${locale}: refusing leads there with access_denied and the state, and grants nothing`,
        inBrowser({ locale }, async (scene) => {
          const { application, athlete } = await prepare(scene)
          const { page, site } = scene
          await openAs(page, site, athlete.email, authorizeUrl(site, application))
          await press(page, deny)
          const { searchParams } = await arrival(page, scene)
          expect(Object.fromEntries(searchParams)).toMatchObject({ error: "access_denied", state: "xyz" })
          expect(await authorizedNames(scene, athlete.id)).toEqual([])
        })
      )

      it.effect(
        `${locale}: a wrong password is reported at the fields, and the right one leads to the consent`,
        inBrowser({ locale }, async (scene) => {
          const { application, athlete } = await prepare(scene)
          const { page, site } = scene
          await openAs(page, site, athlete.email, authorizeUrl(site, application))
          await page.context().clearCookies()
          await page.goto(authorizeUrl(site, application, { locale }))
          await signInHere(page, athlete.email, "wrong")
          const alert = page.getByRole("alert")
          expect(await alert.textContent()).toContain(wrong)
          expect(await alert.evaluate((element) => element === document.activeElement)).toBe(true)
          const field = page.locator("input[name=password]")
          expect(await field.getAttribute("aria-invalid")).toBe("true")
          expect(await field.getAttribute("aria-describedby")).toBe(await alert.getAttribute("id"))
          expect(await field.inputValue()).toBe("")
          await signInHere(page, athlete.email)
          expect(await page.getByRole("button", { name: allow, exact: true }).count()).toBe(1)
        })
      )

      it.effect(
        `${locale}: after too many guesses, the page says how long to wait`,
        inBrowser({ locale }, async (scene) => {
          const { athlete } = await prepare(scene)
          const { page, site } = scene
          await page.goto(`${site.url}/login`)
          for (let guess = 0; guess < 11; guess++) await signInHere(page, athlete.email, `guess ${guess}`)
          expect(await page.getByRole("alert").textContent()).toContain(wait)
          await signInHere(page, athlete.email)
          expect(await page.getByRole("alert").textContent()).toContain(wait)
        }),
        // Twelve pages with a password check each take long on a busy machine.
        60_000
      )
    }

    it.effect(
      "if the session ends during the consent, the request and any state survive the login",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        await openAs(page, site, athlete.email, authorizeUrl(site, application, { state: "a+b c&d=é" }))
        await page.context().clearCookies()
        await press(page, "Allow")
        await signInHere(page, athlete.email)
        expect(await authorizedNames(scene, athlete.id)).toEqual([])
        await press(page, "Allow")
        expect((await arrival(page, scene)).searchParams.get("state")).toBe("a+b c&d=é")
      })
    )

    it.effect(
      "the back button after consent shows the question again, and a second answer gives another code",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        await openAs(page, site, athlete.email, authorizeUrl(site, application))
        await press(page, "Allow")
        const first = (await arrival(page, scene)).searchParams.get("code")
        await page.goBack()
        expect(new URL(page.url()).pathname).toBe("/oauth/authorize")
        await press(page, "Allow")
        const second = (await arrival(page, scene)).searchParams.get("code")
        expect(second).toMatch(/^sl_ac_/)
        expect(second).not.toBe(first)
      })
    )

    it.effect(
      "two windows of one session answer two applications independently",
      inBrowser({}, async (scene) => {
        const one = await prepare(scene)
        const other = await prepare({ ...scene, name: `${scene.name}-other` })
        const { page, site } = scene
        await openAs(page, site, one.athlete.email, authorizeUrl(site, one.application, { state: "one" }))
        const second = await page.context().newPage()
        await second.goto(authorizeUrl(site, other.application, { state: "other" }))
        await press(page, "Allow")
        await press(second, "Do not allow")
        expect((await arrival(page, scene)).searchParams.get("state")).toBe("one")
        expect((await arrival(second, scene)).searchParams.get("error")).toBe("access_denied")
        expect(await authorizedNames(scene, one.athlete.id)).toEqual([one.application.name])
      })
    )

    it.effect(
      "a window of an earlier session changes nothing, and offers to start again",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        const other = await site.run(Story.createUser("athlete", "somebody-else@example.org"))
        await openAs(page, site, athlete.email, authorizeUrl(site, application))
        const second = await page.context().newPage()
        await second.goto(`${site.url}/account/applications`)
        await press(second, "Sign out")
        await signInHere(second, other.email)
        await press(page, "Allow")
        expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("This form has expired")
        expect(await authorizedNames(scene, athlete.id)).toEqual([])
        expect(await authorizedNames(scene, other.id)).toEqual([])
        await page.getByRole("link", { name: "Start again" }).click()
        expect(await page.locator("main").textContent()).toContain(other.email)
      })
    )

    it.effect(
      "“use another account” signs out and comes back to the same request",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        const other = await site.run(Story.createUser("club", "the-club@example.org"))
        await openAs(page, site, athlete.email, authorizeUrl(site, application, { role: "club" }))
        expect(await page.getByRole("alert").textContent()).toContain("as a club, but you are signed in as an athlete")
        expect(await page.getByRole("button", { name: "Allow", exact: true }).count()).toBe(0)
        await press(page, "Use another account")
        await signInHere(page, other.email)
        await press(page, "Allow")
        expect((await arrival(page, scene)).searchParams.get("code")).toMatch(/^sl_ac_/)
      })
    )

    it.effect(
      "both answers reach an application whose callback redirects to another origin",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        const url = authorizeUrl(site, application, { redirect_uri: site.app.onwardUri })
        await openAs(page, site, athlete.email, url)
        await press(page, "Do not allow")
        await page.waitForURL(`${site.app.neighbourUrl}/arrived?error=access_denied*`)
        await page.goto(url)
        await press(page, "Allow")
        await page.waitForURL(`${site.app.neighbourUrl}/arrived?code=*`)
      })
    )

    it.effect(
      "a role that the user does not have leads back to the application with access_denied",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        await openAs(page, site, athlete.email, authorizeUrl(site, application, { role: "organizer" }))
        await press(page, `Back to ${application.name}`)
        expect((await arrival(page, scene)).searchParams.get("error")).toBe("access_denied")
      })
    )

    it.effect(
      "the language link keeps the request, on the consent page and on the way through the login",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        await page.goto(authorizeUrl(site, application, { state: "kept", locale: "en" }))
        await page.getByRole("link", { name: "Français" }).click()
        await signInHere(page, athlete.email)
        expect(await page.locator("h1").textContent()).toBe(
          `Autoriser ${application.name} à utiliser votre compte Startlist\u00a0?`
        )
        await page.getByRole("link", { name: "English" }).click()
        await press(page, "Allow")
        expect((await arrival(page, scene)).searchParams.get("state")).toBe("kept")
      })
    )

    it.effect(
      "both answers have the same size, and the refusal is an outline",
      inBrowser({}, async (scene) => {
        const { application, athlete } = await prepare(scene)
        const { page, site } = scene
        await openAs(page, site, athlete.email, authorizeUrl(site, application))
        const looks = await page.locator("button[name=decision]").evaluateAll((buttons) =>
          buttons.map((button) => {
            const { backgroundColor, color, fontSize, fontWeight } = getComputedStyle(button)
            const { height, width } = button.getBoundingClientRect()
            return { backgroundColor, color, fontSize, fontWeight, height, width }
          })
        )
        expect(looks).toHaveLength(2)
        const [deny, allow] = looks
        const { backgroundColor, color, ...size } = { ...allow }
        expect(deny).toMatchObject(size)
        expect([deny?.backgroundColor, backgroundColor]).toEqual(["rgba(0, 0, 0, 0)", expect.stringContaining("rgb(")])
        expect(deny?.color).not.toBe(color)
      })
    )

    for (const locale of ["en", "fr"] as const) {
      it.effect(
        `${locale}: on a phone, both answers are visible without scrolling, for all pairs of scopes and for four that stay apart`,
        inBrowser({ phone: true, locale }, async (scene) => {
          const { application, athlete } = await prepare(scene)
          const { page, site } = scene
          await page.setViewportSize({ width: 360, height: 780 })
          const of = (scope: string) => authorizeUrl(site, application, { scope })
          await openAs(page, site, athlete.email, of("profile:read profile:write read write read+write"))
          for (const [scope, lines] of [["", 2], ["profile:read write results:export results:see", 4]] as const) {
            if (scope !== "") await page.goto(of(scope))
            expect(await page.locator("main li").count()).toBe(lines)
            const bottoms = await page.locator("button[name=decision]").evaluateAll((buttons) =>
              buttons.map((button) => button.getBoundingClientRect().bottom)
            )
            expect(bottoms).toHaveLength(2)
            for (const bottom of bottoms) expect(bottom).toBeLessThanOrEqual(780)
            expect(await page.locator("header a, header button, header span.account").allTextContents()).toEqual([
              "Startlist",
              athlete.email
            ])
          }
        })
      )
    }

    it.effect(
      "the longest names of users and applications fit on a phone",
      inBrowser({ phone: true }, async (scene) => {
        const { page, site } = scene
        const word = "x".repeat(100)
        const email = (name: string) => `${name.padEnd(200, "x")}@example.org`
        const { application, athlete, owner } = await site.run(Effect.gen(function*() {
          const athlete = yield* Story.createUser("athlete", email("athlete"), word, word)
          const owner = yield* Story.createUser("platform", email("owner"), word, word)
          const registered = yield* Story.register(owner, word, [site.app.redirectUri])
          yield* Story.allow(registered, athlete)
          return { application: registered.application, athlete, owner }
        }))
        const fits = async () =>
          expect([
            page.url(),
            await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
          ]).toEqual([page.url(), 0])
        await openAs(page, site, athlete.email, authorizeUrl(site, application))
        await fits()
        await page.goto(authorizeUrl(site, application, { role: "club" }))
        await fits()
        await page.goto(`${site.url}/account/applications`)
        await page.getByText("Revoke access…").click()
        await fits()
        await page.context().clearCookies()
        await openAs(page, site, owner.email, "/developer/applications")
        await fits()
        await page.fill("input[name=name]", "y".repeat(100))
        await press(page, "Register")
        await fits()
      })
    )

    it.effect(
      "after a revocation, the application is not listed and its tokens are refused",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { athlete, tokens } = await site.run(Effect.gen(function*() {
          const athlete = yield* Story.createUser("athlete", "revoker@example.org")
          const owner = yield* Story.createUser("platform", "revoked@example.org")
          const registered = yield* Story.register(owner, "Race Revoked", [])
          return { athlete, tokens: yield* Story.allow(registered, athlete) }
        }))
        await openAs(page, site, athlete.email, "/account/applications")
        const card = page.getByRole("article").filter({ hasText: "Race Revoked" })
        expect(await card.textContent()).toContain("see your profile")
        const button = card.getByRole("button", { name: "Revoke the access of Race Revoked" })
        expect(await button.isVisible()).toBe(false)
        await card.getByText("Revoke access…").click()
        await button.click()
        expect(await page.getByRole("status").textContent()).toContain(
          "Race Revoked no longer has access to your account."
        )
        expect(await page.locator("main").textContent()).toContain("No application has access to your account.")
        const refused = await site.run(
          Effect.flatMap(OAuth, (oauth) => Effect.flip(oauth.authenticate(tokens.accessToken)))
        )
        expect(refused._tag).toBe("@startlist/core/InvalidToken")
      })
    )
  })
})
