/** The pages with and without their script, and with features of the browser: keyboard, narrow screens, paper. */
import { describe, expect, layer } from "@effect/vitest"
import { isMissing } from "@startlist/test-support/Chromium"
import type { Page } from "playwright-core"
import { openAs, press } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import { inBrowser, type Scene } from "./support/Testing.ts"

const home = "/developer/applications"

/** A site in use, with a platform user on the page of an application. */
const prepare = async ({ name, page, site }: Scene) => {
  const story = await Story.tell(site, `-script-${name}`)
  const path = `${home}/${story.hub.application.id}`
  await openAs(page, site, story.platform.email, `${path}/webhook`)
  await page.locator("h1").waitFor()
  return { ...story, path }
}

/** The first time on a page: its text, its tooltip, and its machine-readable value. */
const timeOf = async (page: Page) => {
  const time = page.locator("time").first()
  return {
    text: await time.textContent(),
    title: await time.getAttribute("title"),
    instant: await time.getAttribute("datetime")
  }
}

const utc = /^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d UTC$/

const focused = (page: Page) => page.evaluate(() => document.activeElement?.outerHTML ?? "")

describe.skipIf(isMissing)("the script of the pages in Chromium (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    it.effect(
      "secrets, identifiers and URLs have a button that copies them and confirms it",
      inBrowser({ javaScript: true }, async (scene) => {
        const { page, site } = scene
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
        const { subscription, path } = await prepare(scene)
        const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
        await press(page, "Copy Callback")
        await page.getByRole("status").filter({ hasText: "Copied Callback" }).waitFor()
        expect(await clipboard()).toBe(subscription.callbackUrl)
        await page.goto(`${site.url}${path}/signing-secret`)
        await press(page, "Show the secret")
        const secret = await page.getByLabel("Signing secret", { exact: true }).inputValue()
        await press(page, "Copy Signing secret")
        await page.getByRole("status").filter({ hasText: "Copied" }).waitFor()
        expect(await clipboard()).toBe(secret)
      })
    )

    for (const [locale, ago] of [["en", "(40 days ago)"], ["fr", "(il y a 40 jours)"]] as const) {
      it.effect(
        `${locale}: times are local and relative, and still have the time in UTC`,
        inBrowser({ javaScript: true, locale }, async (scene) => {
          const { page } = scene
          await prepare(scene)
          const { instant, text, title } = await timeOf(page)
          expect(text).toContain(ago)
          expect(text).not.toContain("UTC")
          expect(title).toMatch(/:\d\d UTC$/)
          expect(new Date(instant ?? "").toISOString()).toBe(instant)
        })
      )
    }

    it.effect(
      "a page whose script is blocked shows times in UTC, has no button without effect, and works",
      inBrowser({ javaScript: true }, async (scene) => {
        const { page, site } = scene
        const blocked: Array<string> = []
        await page.exposeFunction("report", (directive: string) => blocked.push(directive))
        await page.addInitScript(
          `addEventListener("securitypolicyviolation", (event) => report(event.effectiveDirective))`
        )
        await page.route(`${site.url}/**`, async (route) => {
          if (route.request().resourceType() !== "document" || route.request().method() !== "GET") {
            return route.fallback()
          }
          const response = await route.fetch({ maxRedirects: 0 })
          const headers = response.headers()
          const policy = headers["content-security-policy"]?.replace(/script-src '[^']*'/, "script-src 'none'")
          return route.fulfill({
            response,
            headers: policy === undefined ? headers : { ...headers, "content-security-policy": policy }
          })
        })
        const { path } = await prepare(scene)
        await page.goto(`${site.url}${path}/webhook`)
        const { text, title } = await timeOf(page)
        expect([title, text]).toEqual([null, expect.stringMatching(utc)])
        expect(await page.getByRole("button", { name: /^Copy/ }).count()).toBe(0)
        await page.goto(`${site.url}${path}/settings`)
        await page.getByLabel("Name").fill("Race Hub 2")
        await press(page, "Save")
        await page.getByText("The settings of Race Hub 2 are saved.").waitFor()
        expect(new Set(blocked)).toEqual(new Set(["script-src-elem"]))
      }, /Content Security Policy/)
    )
  })
})

describe.skipIf(isMissing)("pages in Chromium without a script (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    it.effect(
      "the first focusable element is a link that skips the header",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { path } = await prepare(scene)
        await page.goto(`${site.url}${path}`)
        await page.keyboard.press("Tab")
        expect(await focused(page)).toContain("Skip to the content")
        expect(await page.locator(".skip").boundingBox()).toMatchObject({ x: 0, y: 0 })
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        expect(await focused(page)).toContain("Your applications")
      })
    )

    it.effect(
      "on 320 pixels the chart shows all 24 hours, the present one at its right edge",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        await page.setViewportSize({ width: 320, height: 800 })
        const { hub, path, subscription } = await prepare(scene)
        expect(hub.application.id).toBe(subscription.applicationId)
        await site.run(Story.aDay(subscription, [{ hoursAgo: 0, outcomes: ["delivered"] }]))
        await page.goto(`${site.url}${path}`)
        const chart = await page.locator(".plot > svg").first().boundingBox()
        const newest = await page.locator(".plot > svg").first().locator("rect").last().boundingBox()
        const right = (box: typeof chart) => (box?.x ?? 0) + (box?.width ?? 0)
        expect(right(chart)).toBeLessThan(320)
        expect(right(chart) - right(newest)).toBeLessThan((chart?.width ?? 0) / 24)
        expect(newest?.width).toBeGreaterThan(5)
      })
    )

    it.effect(
      "a printed page has the content, and no buttons",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { path } = await prepare(scene)
        await page.goto(`${site.url}${path}/deliveries`)
        await page.emulateMedia({ media: "print", colorScheme: "dark" })
        expect(await page.getByRole("table").last().isVisible()).toBe(true)
        expect(await page.locator("h1").isVisible()).toBe(true)
        for (const screenOnly of ["nav", "footer", "form", ".skip", "details"]) {
          for (const one of await page.locator(screenOnly).all()) {
            expect([screenOnly, await one.isVisible()]).toEqual([screenOnly, false])
          }
        }
        const [background, ink] = await page.locator(".card").first().evaluate((card) => {
          const { backgroundColor, color } = getComputedStyle(card)
          return [backgroundColor, color].map((rgb) => Number(/\d+/.exec(rgb)?.[0]))
        })
        expect(background).toBeGreaterThan(200)
        expect(ink).toBeLessThan(100)
      })
    )
  })
})
