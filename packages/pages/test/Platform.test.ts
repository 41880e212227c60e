import { describe, expect, it } from "@effect/vitest"
import { Applications } from "@startlist/core"
import { PlatformColor } from "@startlist/pages"
import { Effect, Option } from "effect"
import * as Browser from "./support/Browser.ts"
import { testing } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const logo = { type: "image/png", content: new Uint8Array([137, 80, 78, 71]) }

const platform = {
  name: "Laufportal",
  logo: Option.some(logo),
  color: Option.some("#7a1f5c"),
  support: Option.some("mailto:help@laufportal.example"),
  privacyPolicy: Option.some("https://laufportal.example/privacy"),
  guide: Option.some("https://laufportal.example/developers")
}

describe("the platform", () => {
  testing(
    "has its name, logo, colour and links on every page, and nothing else has a name",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        const pages = {
          login: yield* stranger.get("/login"),
          consent: yield* world.browser.get(world.authorizeUrl()),
          account: yield* world.browser.get("/account/applications"),
          developer: yield* world.platformBrowser.get("/developer/applications"),
          error: yield* world.browser.get("/nowhere")
        }
        for (const [name, { body }] of Object.entries(pages)) {
          const page = String(body)
          expect([name, page]).toEqual([name, expect.stringContaining("· Laufportal</title>")])
          expect([name, page.replaceAll(/(?:data-|__|@)?startlist[_-]\w+/g, "")]).toEqual([
            name,
            expect.not.stringMatching(/startlist/i)
          ])
          for (const link of ["mailto:help@laufportal.example", "https://laufportal.example/privacy"]) {
            expect([name, page]).toEqual([name, expect.stringContaining(`<a href="${link}">`)])
          }
          const [, image = ""] = /<header><p><a [^>]*><img class="mark" src="([^"]*)"/.exec(page) ?? []
          const shown = yield* stranger.get(image)
          expect([name, shown.headers["content-type"], shown.body]).toEqual([name, "image/png", logo.content])
          const [, style = ""] = /rel="stylesheet" href="([^"]*)"/.exec(page) ?? []
          const sheet = yield* stranger.get(style)
          expect(new TextDecoder().decode(Buffer.from(sheet.body))).toContain("--pico-primary-background:#7a1f5c")
          expect(sheet.headers["cache-control"]).toContain("immutable")
        }
        expect(pages.login.body).toContain("the password of your Laufportal account")
        expect(pages.consent.body).toContain("your Laufportal account")
      }),
    { platform }
  )

  testing("is in the metadata", ({ form: _ }) =>
    Effect.gen(function*() {
      const metadata = yield* (yield* Browser.make).get("/.well-known/oauth-authorization-server")
      expect(World.json(metadata)).toMatchObject({
        service_documentation: "https://laufportal.example/developers",
        op_policy_uri: "https://laufportal.example/privacy"
      })
    }), { platform })

  testing("is the only one whose name no application may have", (world) =>
    Effect.gen(function*() {
      const { create } = yield* Applications.Applications
      const register = (name: string) => create(world.platform.id, { name, redirectUris: [], requirePkce: false })
      for (const name of ["Laufportal", "L4ufportal Support"]) {
        expect(yield* Effect.flip(register(name))).toMatchObject({ field: "name" })
      }
      expect((yield* register("Startlist Printer")).application.name).toBe("Startlist Printer")
    }), { platform })

  testing("without settings has our name, no link and no logo", () =>
    Effect.gen(function*() {
      const page = String((yield* (yield* Browser.make).get("/login")).body)
      expect(page).toContain("· Startlist</title>")
      expect(page).not.toContain("<img")
      expect(page).not.toContain("mailto:")
    }))
})

describe("the colour of the platform", () => {
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(color.slice(at, at + 2), 16) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one: string, other: string): number => {
    const [more = 0, less = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
    return (more + 0.05) / (less + 0.05)
  }
  const parts = ["00", "40", "80", "b0", "ff"]
  const colors = parts.flatMap((red) => parts.flatMap((green) => parts.map((blue) => `#${red}${green}${blue}`)))

  it("is refused if white text on it, or a link in it, has too little contrast; the message has a colour that is good", () => {
    for (const color of ["#ffcc00", "#1e90ff", "#808080", "#FF0000"]) {
      const problem = Option.getOrThrow(PlatformColor.problemOf(color))
      const [, better = ""] = /such as (#[\da-f]{6})\./.exec(problem) ?? []
      expect([color, problem, PlatformColor.problemOf(better)]).toEqual([color, problem, Option.none()])
    }
    expect(PlatformColor.problemOf("#ffcc00")).toEqual(Option.some(expect.stringContaining("1.51:1 with white text")))
    for (const color of ["red", "#fff", "#12345g", ""]) expect(Option.isSome(PlatformColor.problemOf(color))).toBe(true)
    expect(PlatformColor.problemOf("#0172ad")).toEqual(Option.none())
  })

  it("otherwise has contrast in both themes: as a button with white text, as a link, also under the pointer", () => {
    const good = colors.filter((color) => Option.isNone(PlatformColor.problemOf(color)))
    expect([good.length > 20, good.length < 100]).toEqual([true, true])
    for (const color of good) {
      const [light = "", dark = ""] = PlatformColor.styleOf(color).split("@media")
      for (const [theme, backgrounds] of [[light, ["#ffffff", "#f4f6f9"]], [dark, ["#12161d", "#1a202a"]]] as const) {
        const valueOf = (name: string) => new RegExp(`--pico-primary${name}:(#[\\da-f]{6})`).exec(theme)?.[1] ?? ""
        for (const link of [valueOf(""), valueOf("-hover")]) {
          for (const background of backgrounds) expect(contrast(link, background)).toBeGreaterThanOrEqual(4.5)
        }
        for (const button of [valueOf("-background"), valueOf("-hover-background")]) {
          expect(contrast(button, "#ffffff")).toBeGreaterThanOrEqual(4.5)
        }
      }
    }
  })
})
