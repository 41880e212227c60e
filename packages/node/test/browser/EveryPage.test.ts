/** What must hold of every page: accessible, light and dark, in both languages, and nothing to complain of. */
import { describe, expect, layer } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import { isMissing, person } from "./support/Chromium.ts"
import { everyPage } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import * as TestSite from "./support/TestSite.ts"

const looks = [
  { locale: "en-GB", dark: false },
  { locale: "en-GB", dark: true },
  { locale: "fr-FR", dark: false },
  { locale: "fr-FR", dark: true }
] as const

/** Everything that WCAG 2.2 AA asks for as far as a machine can tell, and what axe holds for good practice. */
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

const check = `${axe.source}; axe.run({ runOnly: ${JSON.stringify(standards)} })`

describe.skipIf(isMissing)("every page in Chromium (skipped where there is none)", () => {
  layer(Testing.layer, { timeout: "60 seconds" })((it) => {
    for (const look of looks) {
      const language = look.locale.slice(0, 2)
      it.effect(
        `${language}, ${look.dark ? "dark" : "light"}: axe finds nothing, the language is declared, nothing overflows`,
        () =>
          Effect.gen(function*() {
            const site = yield* TestSite.TestSite
            const browser = yield* Testing.Chromium
            yield* Effect.promise(async () => {
              const story = await Story.tell(site, `${language}-${look.dark}`)
              const found: Array<ReadonlyArray<string>> = []
              for (const { name, visit } of everyPage) {
                const { complaints, context, page } = await person(browser, {
                  ...look,
                  javaScript: true,
                  phone: look.dark
                })
                await visit(page, site, story)
                expect([name, await page.locator("html").getAttribute("lang")]).toEqual([name, language])
                expect([name, await page.locator("h1").count()]).toEqual([name, 1])
                const { violations } = await page.evaluate<axe.AxeResults>(check)
                for (const { id, nodes } of violations) found.push([name, id, ...nodes.map(({ html }) => html)])
                const overflow = await page.evaluate(() =>
                  document.documentElement.scrollWidth - document.documentElement.clientWidth
                )
                if (overflow !== 0) found.push([name, `${overflow} pixels too wide`])
                found.push(...complaints.map((complaint) => [name, complaint]))
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
