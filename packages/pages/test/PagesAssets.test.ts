import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Browser from "./support/Browser.ts"
import { testing } from "./support/Testing.ts"

const linked = (html: unknown): ReadonlyArray<string> =>
  [...String(html).matchAll(/<link [^>]*href="([^"]*)"/g)].map(([, href]) => href ?? "")

describe("the files of the pages", () => {
  testing(
    "are served by the service itself, cacheable forever, under a name that contains their version",
    () =>
      Effect.gen(function*() {
        const browser = yield* Browser.make
        const links = linked((yield* browser.get("/login")).body)
        expect(links).toEqual([
          expect.stringMatching(/^\/assets\/pages\.[0-9a-f]{16}\.css$/),
          expect.stringMatching(/^\/assets\/icon\.[0-9a-f]{16}\.svg$/)
        ])
        for (const link of links) {
          const { headers, status } = yield* browser.get(link)
          expect([link, status]).toEqual([link, 200])
          expect(headers).toMatchObject({
            "cache-control": "public, max-age=31536000, immutable",
            "x-content-type-options": "nosniff"
          })
          expect(headers["set-cookie"]).toBeUndefined()
        }
      })
  )

  testing("of another version are answered too, but asked for again the next time", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const { headers, status } = yield* browser.get("/assets/pages.0123456789abcdef.css")
      expect([status, headers["cache-control"]]).toEqual([200, "no-cache"])
      expect((yield* browser.get("/assets/other.css")).status).toBe(404)
    }))

  testing("have an entity tag: a browser that has them already gets 304", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      for (const link of linked((yield* browser.get("/login")).body)) {
        const { headers } = yield* browser.get(link)
        const tag = String(headers["etag"])
        expect(tag).toMatch(/^W\/"[0-9a-f]{16}"$/)
        for (const known of [tag, `"other", ${tag}`, "*"]) {
          const again = yield* browser.get(link, { "if-none-match": known })
          expect([known, again.status, again.body, again.headers["etag"]]).toEqual([known, 304, "", tag])
        }
        expect((yield* browser.get(link, { "if-none-match": "W/\"0123456789abcdef\"" })).status).toBe(200)
      }
    }))

  it("are those of the sources: if not, npm run assets -w packages/pages", async () => {
    const { module } = await import("./support/assets.ts")
    expect(readFileSync(new URL("../src/internal/assetFiles.ts", import.meta.url), "utf8")).toBe(module)
  })

  testing("load nothing from elsewhere", () =>
    Effect.gen(function*() {
      const browser = yield* Browser.make
      const [stylesheet = ""] = linked((yield* browser.get("/login")).body)
      const { body } = yield* browser.get(stylesheet)
      expect(new TextDecoder().decode(Buffer.from(body))).not.toMatch(/@import|url\((?!["']?data:)/)
    }))
})
