/** Other sites cannot act for a signed-in user through the browser. */
import { describe, expect, layer } from "@effect/vitest"
import { Applications } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { Effect, Option } from "effect"
import { isMissing, person } from "@startlist/test-support/Chromium"
import { openAs, press, signInHere } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import { authorizeUrl } from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import { inBrowser, type Scene } from "./support/Testing.ts"

const hostile = "\"'><script>document.title='owned'</script><img src=x onerror=alert(1)>&lt;"

/** An athlete who has authorised the application of a platform user. */
const prepare = ({ name, site }: Scene) =>
  site.run(Effect.gen(function*() {
    const athlete = yield* Story.createUser("athlete", `victim-${name}@example.org`)
    const owner = yield* Story.createUser("platform", `maker-${name}@example.org`)
    const registered = yield* Story.register(owner, "Race Hub", [site.app.redirectUri])
    yield* Story.allow(registered, athlete)
    return { application: registered.application, athlete, owner }
  }))

const authorizedBy = ({ site }: Scene, id: Parameters<OAuth.Service["authorized"]>[0]) =>
  site.run(Effect.map(Effect.flatMap(OAuth, ({ authorized }) => authorized(id)), (found) => found.length))

const ownedBy = ({ site }: Scene, owner: Parameters<OAuth.Service["authorized"]>[0]) =>
  site.run(
    Effect.flatMap(Applications, ({ list }) => list({ owner: Option.some(owner), after: Option.none(), limit: 9 }))
  )

/** The form token of the signed-in user. */
const tokenOf = (page: Scene["page"]) => page.locator("input[name=csrf]").first().inputValue()

describe.skipIf(isMissing)("forgery in Chromium (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    it.effect(
      "a form of another page or site, without a token or with another user's token, changes nothing",
      inBrowser({}, async (scene) => {
        const { browser, page, site } = scene
        const { application, athlete, owner } = await prepare(scene)
        const attacker = await person(browser)
        await openAs(attacker.page, site, owner.email, "/account/applications")
        const foreign = await tokenOf(attacker.page)
        await attacker.context.close()
        await openAs(page, site, athlete.email, "/account/applications")
        const own = await tokenOf(page)
        const revocation = `${site.url}/account/applications/${application.id}/revoke`
        const attempts = [
          [site.app.url, {}],
          [site.app.url, { csrf: own }],
          [site.app.neighbourUrl, {}],
          [site.app.neighbourUrl, { csrf: foreign }],
          [site.app.neighbourUrl, { csrf: own }]
        ] as const
        for (const [origin, fields] of attempts) {
          await page.goto(`${origin}/forge?${new URLSearchParams({ to: revocation, ...fields })}`)
          await page.getByRole("button").click()
          await page.waitForURL(`${site.url}/**`)
          expect([origin, fields, await authorizedBy(scene, athlete.id)]).toEqual([origin, fields, 1])
        }
        const decision = `${site.url}/oauth/authorize`
        const request = Object.fromEntries(new URL(authorizeUrl(site, application)).searchParams)
        const visits = site.app.visits.length
        await page.goto(
          `${site.app.neighbourUrl}/forge?${new URLSearchParams({ to: decision, ...request, decision: "allow" })}`
        )
        await page.getByRole("button").click()
        expect(await page.locator("h1").textContent()).toBe("This form has expired")
        expect(site.app.visits.slice(visits).filter(({ pathname }) => pathname === "/callback")).toEqual([])
      })
    )

    it.effect(
      "forged developer forms create, change and show nothing",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { application, athlete, owner } = await prepare(scene)
        await openAs(page, site, owner.email, "/account/applications")
        const path = `${site.url}/developer/applications`
        const own = `${path}/${application.id}`
        const forms = [
          [path, { name: "Forged", redirect_uris: "https://evil.example/", newest: String(application.id) }],
          [own, { name: "Forged", redirect_uris: "https://evil.example/" }],
          [`${own}/secret`, { version: String(application.version), end_now: "true" }],
          [`${own}/test-event`, {}],
          [`${own}/signing-secret`, { action: "reveal" }]
        ] as const
        await site.run(Story.subscribe(application.id))
        for (const [action, fields] of forms) {
          await page.goto(`${site.app.neighbourUrl}/forge?${new URLSearchParams({ to: action, csrf: "x", ...fields })}`)
          await page.getByRole("button").click()
          expect([action, await page.locator("h1").textContent()]).toEqual([action, "This form has expired"])
        }
        expect(await ownedBy(scene, owner.id)).toEqual([application])
        expect(await authorizedBy(scene, athlete.id)).toBe(1)
      })
    )

    it.effect(
      "no page can be framed, by another site or by another origin of the same site",
      inBrowser({}, async ({ browser, site }) => {
        for (const origin of [site.app.url, site.app.neighbourUrl]) {
          const { complaints, context, page } = await person(browser)
          await page.goto(`${origin}/frame?${new URLSearchParams({ url: `${site.url}/login` })}`)
          const frame = page.frames()[1]
          expect(await frame?.locator("form").count()).toBe(0)
          expect(complaints.join()).toMatch(/frame-ancestors 'none'|X-Frame-Options/)
          await context.close()
        }
      })
    )

    it.effect(
      "no return_to leads away from the service",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { athlete } = await prepare(scene)
        const evil = [site.app.url, `//localhost:${new URL(site.app.url).port}/`, "/\\localhost", "javascript:alert(1)"]
        for (const returnTo of evil) {
          await page.context().clearCookies()
          const query = new URLSearchParams({ return_to: returnTo })
          await page.goto(`${site.url}/login?${query}`)
          await signInHere(page, athlete.email)
          expect([returnTo, page.url()]).toEqual([returnTo, `${site.url}/account/applications`])
          await page.goto(`${site.url}/language?${query}&locale=en`)
          expect([returnTo, page.url()]).toEqual([returnTo, `${site.url}/account/applications`])
        }
      })
    )

    it.effect(
      "hostile names, states, URLs and settings are shown as text",
      inBrowser({ javaScript: true }, async (scene) => {
        const { page, site } = scene
        const { application, athlete, owner } = await site.run(Effect.gen(function*() {
          const athlete = yield* Story.createUser("athlete", "o'brien&co@x.org", hostile, hostile)
          const owner = yield* Story.createUser("platform", "hostile@example.org", hostile, hostile)
          const registered = yield* Story.register(owner, hostile, [])
          yield* Story.allow(registered, athlete)
          const subscription = yield* Story.subscribe(registered.application.id, `https://x.org/?${hostile}`)
          yield* Story.aDay(subscription, [{ hoursAgo: 1, outcomes: ["rejected"] }])
          return { application: registered.application, athlete, owner }
        }))
        page.on("dialog", (dialog) => void dialog.dismiss().then(() => expect.fail("a script ran")))
        const shown = async (...texts: ReadonlyArray<string>) => {
          const main = await page.locator("body").textContent()
          for (const text of texts) expect(main).toContain(text)
          expect(await page.title()).not.toBe("owned")
          expect(await page.locator("body :not(body > script:last-child):is(script, img)").count()).toBe(0)
        }
        const redirectUri = "http://localhost/\"><script>alert(1)</script>"
        await openAs(
          page,
          site,
          athlete.email,
          authorizeUrl(site, application, { redirect_uri: redirectUri, state: hostile })
        )
        await shown(hostile, athlete.email)
        expect(await page.locator("input[name=state]").inputValue()).toBe(hostile)
        await page.goto(`${site.url}/account/applications`)
        await shown(hostile, athlete.email)
        await page.goto(`${site.url}/login/${encodeURI(hostile)}`)
        await shown("Page not found")
        await page.goto(`${site.url}/account/applications`)
        await press(page, "Sign out")
        await signInHere(page, "x@x.org", hostile)
        await shown("is incorrect")
        await page.goto(
          `${site.url}/login?${new URLSearchParams({
            return_to: `/developer/applications/${application.id}/settings`
          })}`
        )
        await signInHere(page, owner.email)
        await shown(hostile)
        await page.getByLabel("Redirect URIs").fill(`</textarea>${hostile}`)
        await press(page, "Save")
        expect(await page.getByLabel("Redirect URIs").inputValue()).toContain("</textarea>")
        await shown("Nothing was saved")
        await page.goto(`${site.url}/developer/applications/${application.id}/webhook`)
        await shown(`https://x.org/?${hostile}`)
        await page.goto(`${site.url}/developer/applications/${application.id}/deliveries`)
        await page.locator("tbody tr td a, tbody th a").first().click()
        await shown("<html><h1>Bad Gateway</h1></html>")
      })
    )
  })
})
