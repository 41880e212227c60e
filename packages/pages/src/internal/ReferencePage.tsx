/** `/docs`: the description of the API as a page like the others. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import * as ErrorPage from "./ErrorPage.ts"
import * as Frame from "./Frame.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const path = "/docs"

/**
 * Serves `content`, which is HTML in English without scripts and styles, in the frame of the pages. Every language is
 * rendered once, and all answers share its bytes.
 */
export const make = (content: Effect.Effect<string>): Effect.Effect<Route> =>
  Effect.gen(function*() {
    const base = basePath(yield* HttpConfig)
    const frameOf = yield* Frame.make
    const { refuse } = yield* ErrorPage.make
    const rendered = new Map<Locale.Locale, Uint8Array>()

    const render = (locale: Locale.Locale) =>
      Effect.map(content, (__html) => {
        const frame = frameOf({ locale, here: base + path, signedIn: Option.none(), signOutUrl: `${base}/logout` })
        const page = Page.render(
          <Layout frame={frame} title={Locale.messagesIn(locale).welcome.reference}>
            <div class="reference" lang="en" dangerouslySetInnerHTML={{ __html }} />
          </Layout>
        )
        const bytes = new TextEncoder().encode(page)
        rendered.set(locale, bytes)
        return bytes
      })

    return {
      path,
      methods: {
        GET: (request) => {
          const locale = Locale.of(request)
          const known = rendered.get(locale)
          return Effect.map(
            known === undefined ? render(locale) : Effect.succeed(known),
            (bytes) => Page.html(200, bytes)
          )
        }
      },
      refuse
    }
  })
