/** A test with a browser. Fails if the browser has reported errors. */
import { expect } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Browser, Page } from "playwright-core"
import { launch, person, type Templates } from "@startlist/test-support/Chromium"
import * as TestSite from "./TestSite.ts"

/** One browser for the tests of a file. */
export class Chromium extends Context.Tag("@startlist/node/test/Chromium")<Chromium, Browser>() {}

/** A site and a browser. */
export const layer: Layer.Layer<Chromium | TestSite.TestSite> = Layer.merge(
  TestSite.layer,
  Layer.scoped(Chromium, launch)
)

export interface Scene {
  readonly site: TestSite.HttpConfig
  readonly page: Page
  readonly browser: Browser
  /** Unique in the file. */
  readonly name: string
  /** Errors that the browser has reported. */
  readonly complaints: ReadonlyArray<string>
}

let scenes = 0

const locales = { en: "en-GB", fr: "fr-FR" } as const

/** Runs a test without JavaScript, unless `look` enables it. The browser may report only `expected` errors. */
export const inBrowser = (
  { locale = "en", ...look }: Omit<Templates, "locale"> & { readonly locale?: "en" | "fr" },
  play: (scene: Scene) => Promise<void>,
  expected?: RegExp
) =>
(): Effect.Effect<void, never, Chromium | TestSite.TestSite> =>
  Effect.gen(function*() {
    const site = yield* TestSite.TestSite
    const browser = yield* Chromium
    yield* Effect.promise(async () => {
      const signedIn = await person(browser, { ...look, locale: locales[locale] })
      try {
        await play({ ...signedIn, browser, name: String(++scenes), site })
      } finally {
        await signedIn.context.close()
      }
      expect(signedIn.complaints.filter((complaint) => expected?.test(complaint) !== true)).toEqual([])
    })
  })
