/** Every page is accessible on every screen, light and dark, in both languages, without errors in the browser. */
import { describe, expect, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { isMissing } from "@startlist/test-support/Chromium"
import { cast, everyPage, type Sight } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import * as TestSite from "./support/TestSite.ts"

/** All automatic checks of WCAG 2.2 AA, and axe's best practices. */
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

/** Rules whose result depends on colours and layout. All others have the same result in all variants. */
const appearance = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]

const variants = [
  { name: "desktop", width: 1200, colorScheme: "light", rules: standards },
  { name: "desktop, dark", width: 1200, colorScheme: "dark", rules: appearance },
  { name: "200 % zoom", width: 600, colorScheme: "dark", rules: appearance },
  { name: "phone, dark", width: 390, colorScheme: "dark", rules: appearance },
  { name: "phone", width: 390, colorScheme: "light", rules: appearance },
  { name: "320 pixels", width: 320, colorScheme: "light", rules: standards }
] as const

/** Colours do not depend on the language, so one language is enough for the variants that differ only in them. */
const variantsOf = (language: string) => variants.filter(({ rules }) => language === "en" || rules === standards)

const reference = ["", "/oauth", "/applications"].map((group): Sight => ({
  by: "stranger",
  name: `docs${group}`,
  visit: (page, site) => page.goto(`${site.url}/docs${group}`)
}))

/** The page, or elements in it, that need horizontal scrolling. */
const wide = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((element) =>
      element.scrollWidth > element.clientWidth &&
      (element === document.scrollingElement || ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
    ).map((element) => `${element.tagName} is ${element.scrollWidth - element.clientWidth} pixels too wide`)
  )

const violations = async (page: Page, rules: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  // Of the other results, axe gives one element for each rule: naming all of them takes most of its time.
  const options = { runOnly: rules, resultTypes: ["violations"] }
  const found = await page.evaluate<axe.AxeResults>(`axe.run(${JSON.stringify(options)})`)
  expect(found.passes.some(({ id }) => id === "color-contrast")).toBe(true)
  return found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(" "))
}

describe.skipIf(isMissing)("every page in Chromium (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    for (const locale of ["en-GB", "fr-FR"] as const) {
      const language = locale.slice(0, 2)
      it.effect(
        `${language}: axe finds nothing, and nothing scrolls horizontally, on desktop and phone, light and dark, also zoomed`,
        () =>
          Effect.gen(function*() {
            const site = yield* TestSite.TestSite
            const browser = yield* Testing.Chromium
            yield* Effect.promise(async () => {
              const story = await Story.tell(site, language)
              const people = await cast(browser, { locale, javaScript: true }, site, story)
              const found: Array<ReadonlyArray<string>> = []
              for (const { by, name, visit } of [...everyPage, ...reference]) {
                const { page } = people[by]
                await visit(page, site, story)
                expect([name, await page.locator("html").getAttribute("lang")]).toEqual([name, language])
                expect([name, await page.locator("h1").count()]).toEqual([name, 1])
                await page.evaluate(`${axe.source}; undefined`)
                for (const { colorScheme, name: variant, rules, width } of variantsOf(language)) {
                  await page.emulateMedia({ colorScheme })
                  await page.setViewportSize({ width, height: 800 })
                  const troubles = [...await violations(page, rules), ...await wide(page)]
                  found.push(...troubles.map((trouble) => [name, variant, trouble]))
                }
              }
              for (const { complaints, context } of Object.values(people)) {
                found.push(...complaints.map((complaint) => [complaint]))
                await context.close()
              }
              expect(found).toEqual([])
            })
          })
      )
    }

    it.effect("no page of the API reference is taller than 15,000 pixels on a desktop", () =>
      Effect.gen(function*() {
        const { url } = yield* TestSite.TestSite
        const browser = yield* Testing.Chromium
        yield* Effect.promise(async () => {
          const context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
          const page = await context.newPage()
          await page.goto(`${url}/docs`)
          const addresses = await page.locator("h2 > a").evaluateAll((links) => links.map((link) => String(link)))
          expect(addresses.length).toBeGreaterThan(5)
          for (const address of [`${url}/docs`, ...addresses]) {
            await page.goto(address)
            const height = await page.evaluate(() => document.documentElement.scrollHeight)
            expect(height, address).toBeLessThanOrEqual(15_000)
          }
          await context.close()
        })
      }))
  })
})
