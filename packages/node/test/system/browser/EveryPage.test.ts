/** What must hold of every page: accessible, light and dark, in both languages, and nothing to complain of. */
import { describe, expect, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import { isMissing } from "@startlist/test-support/Chromium"
import { cast, everyPage, type Sight } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import * as TestSite from "./support/TestSite.ts"

/** Everything that WCAG 2.2 AA asks for as far as a machine can tell, and what axe holds for good practice. */
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

/** Dark pages differ in their colours only. */
const rules = { light: standards, dark: ["color-contrast"] }

const reference: Sight = { by: "stranger", name: "docs", visit: (page, site) => page.goto(`${site.url}/docs`) }

describe.skipIf(isMissing)("every page in Chromium (skipped where there is none)", () => {
  layer(Testing.layer, { timeout: "60 seconds", excludeTestServices: true })((it) => {
    for (const locale of ["en-GB", "fr-FR"] as const) {
      const language = locale.slice(0, 2)
      it.effect(
        `${language}: axe finds nothing, light and dark; the language is declared; nothing is wider than a phone`,
        () =>
          Effect.gen(function*() {
            const site = yield* TestSite.TestSite
            const browser = yield* Testing.Chromium
            yield* Effect.promise(async () => {
              const story = await Story.tell(site, language)
              const people = await cast(browser, { locale, javaScript: true }, site, story)
              const found: Array<ReadonlyArray<string>> = []
              for (const { by, name, visit } of [...everyPage, reference]) {
                const { page } = people[by]
                await visit(page, site, story)
                expect([name, await page.locator("html").getAttribute("lang")]).toEqual([name, language])
                expect([name, await page.locator("h1").count()]).toEqual([name, 1])
                await page.evaluate(`${axe.source}; undefined`)
                for (const colorScheme of ["light", "dark"] as const) {
                  await page.emulateMedia({ colorScheme })
                  await page.setViewportSize({ width: colorScheme === "dark" ? 390 : 1200, height: 800 })
                  const options = JSON.stringify({ runOnly: rules[colorScheme] })
                  const { passes, violations } = await page.evaluate<axe.AxeResults>(`axe.run(${options})`)
                  expect(passes.some(({ id }) => id === "color-contrast")).toBe(true)
                  for (const { id, nodes } of violations) {
                    found.push([name, colorScheme, id, ...nodes.map(({ html }) => html)])
                  }
                  const overflow = await page.evaluate(() =>
                    document.documentElement.scrollWidth - document.documentElement.clientWidth
                  )
                  if (overflow !== 0) found.push([name, `${overflow} pixels too wide`])
                }
              }
              for (const { complaints, context } of Object.values(people)) {
                found.push(...complaints.map((complaint) => [complaint]))
                await context.close()
              }
              expect(found).toEqual([])
            })
          }),
        120_000
      )
    }
  })
})
