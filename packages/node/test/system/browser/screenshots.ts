/** Photographs every page for the documentation: `npm run screenshots`. */
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { launch, type Templates } from "@startlist/test-support/Chromium"
import { cast, everyPage } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as TestSite from "./support/TestSite.ts"

const folder = fileURLToPath(new URL("../../../../../docs/images/", import.meta.url))

const looks: ReadonlyArray<readonly [suffix: string, look: Templates]> = [
  ["", {}],
  ["-phone", { phone: true }],
  ["-dark", { dark: true }],
  ["-fr", { locale: "fr-FR" }]
]

/** Dark and French ones of these only: they differ from the others in nothing but that. */
const inAllLooks = new Set(["consent", "delivery-list"])

/** The page from its top, but no further than a reader looks. */
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
  const story = yield* Effect.promise(() => Story.tell(site))
  for (const [suffix, look] of looks) {
    yield* Effect.promise(async () => {
      const people = await cast(browser, look, site, story)
      for (const { by, name, visit } of everyPage) {
        if (suffix !== "" && suffix !== "-phone" && !inAllLooks.has(name)) continue
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
