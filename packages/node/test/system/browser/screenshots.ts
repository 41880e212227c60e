/**
 * Makes screenshots. `npm run screenshots`: those of the documentation. `npm run screenshots -- FOLDER`: every page in
 * both languages, on desktop and phone, light and dark.
 */
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { launch, type Templates } from "@startlist/test-support/Chromium"
import { cast, everyPage } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as TestSite from "./support/TestSite.ts"

const [, , elsewhere] = process.argv

const folder = elsewhere === undefined
  ? fileURLToPath(new URL("../../../../../docs/images/", import.meta.url))
  : `${resolve(elsewhere)}/`

interface Series {
  readonly pages: ReadonlyArray<string>
  readonly suffix: string
  readonly look: Templates
}

/** The screenshots in the guides. */
const ofGuides: ReadonlyArray<Series> = [
  { pages: ["consent"], suffix: "", look: {} },
  { pages: ["account"], suffix: "-phone", look: { phone: true } },
  { pages: ["delivery-list"], suffix: "", look: {} }
]

const everything: ReadonlyArray<Series> = (["en-GB", "fr-FR"] as const).flatMap((locale) =>
  [false, true].flatMap((phone) =>
    [false, true].map((dark) => ({
      pages: everyPage.map(({ name }) => name),
      suffix: ["", locale.slice(0, 2), phone ? "phone" : "desktop", dark ? "dark" : "light"].join("-"),
      look: { locale, phone, dark }
    }))
  )
)

/** The top of the page, up to a maximum height. */
const picture = async (page: Page, path: string): Promise<void> => {
  const { height = 0, width = 0 } = page.viewportSize() ?? {}
  const whole = await page.locator("html").boundingBox()
  await page.screenshot({
    path,
    fullPage: true,
    clip: { x: 0, y: 0, width, height: Math.min(Math.max(whole?.height ?? 0, height), longest) }
  })
}

/** In CSS pixels. */
const longest = 1100

const photograph = Effect.gen(function*() {
  const site = yield* TestSite.TestSite
  const browser = yield* launch
  mkdirSync(folder, { recursive: true })
  const first = yield* Effect.promise(() => Story.tell(site))
  for (const { look, pages, suffix } of elsewhere === undefined ? ofGuides : everything) {
    yield* Effect.promise(async () => {
      // Some pages of the series change the data, so each series of all pages has its own.
      const story = elsewhere === undefined ? first : await Story.tell(site, suffix)
      const people = await cast(browser, { ...look, javaScript: true }, site, story)
      for (const { by, name, visit } of everyPage.filter(({ name }) => pages.includes(name))) {
        const { page } = people[by]
        await visit(page, site, story)
        await picture(page, `${folder}${name}${suffix}.png`)
      }
      for (const { complaints, context } of Object.values(people)) {
        if (complaints.length > 0) throw new Error(complaints.join("\n"))
        await context.close()
      }
    })
  }
})

await Effect.runPromise(photograph.pipe(Effect.provide(TestSite.layer), Effect.scoped))
