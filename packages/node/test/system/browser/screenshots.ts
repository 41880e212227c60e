/** Photographs pages for the documentation: `npm run screenshots`. */
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { launch, type Templates } from "@startlist/test-support/Chromium"
import { cast, everyPage } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as TestSite from "./support/TestSite.ts"

const folder = fileURLToPath(new URL("../../../../../docs/images/", import.meta.url))

/** The pictures that guides show. */
const pictures: ReadonlyArray<readonly [page: string, suffix: string, look: Templates]> = [
  ["consent", "", {}],
  ["account", "-phone", { phone: true }],
  ["delivery-list", "", {}]
]

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
  for (const [shown, suffix, look] of pictures) {
    yield* Effect.promise(async () => {
      const people = await cast(browser, { ...look, javaScript: true }, site, story)
      for (const { by, name, visit } of everyPage.filter(({ name }) => name === shown)) {
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
