/** `/docs`: the description of the API in the frame of the pages. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import * as EntityTag from "./EntityTag.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Frame from "./Frame.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const path = "/docs"

interface Rendered {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly tag: string
}

const tagOf = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", bytes)),
    (digest) =>
      EntityTag.make([...new Uint8Array(digest, 0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join(""))
  )

/**
 * Serves `content` in the frame of the pages. It is English HTML without scripts and styles. Each language is rendered
 * once, and all responses share its bytes.
 */
export const make = (content: Effect.Effect<string>): Effect.Effect<Route> =>
  Effect.gen(function*() {
    const base = basePath(yield* HttpConfig)
    const frameOf = yield* Frame.make
    const { refuse } = yield* ErrorPage.make
    const rendered = new Map<Locale.Locale, Rendered>()

    const render = (locale: Locale.Locale) =>
      Effect.map(content, (__html) => {
        const frame = frameOf({ locale, here: base + path, signedIn: Option.none(), signOutUrl: `${base}/logout` })
        const page = Page.render(
          <Layout frame={frame} title={Locale.messagesIn(locale).welcome.reference}>
            <div class="reference" lang="en" dangerouslySetInnerHTML={{ __html }} />
          </Layout>
        )
        return new TextEncoder().encode(page)
      }).pipe(
        Effect.flatMap((bytes) => Effect.map(tagOf(bytes), (tag) => ({ bytes, tag }))),
        Effect.tap((made) => Effect.sync(() => rendered.set(locale, made)))
      )

    return {
      path,
      methods: {
        GET: (request) => {
          const locale = Locale.of(request)
          const known = rendered.get(locale)
          return Effect.map(
            known === undefined ? render(locale) : Effect.succeed(known),
            ({ bytes, tag }) => {
              // Browsers store the page and validate it each time: 304 if nothing has changed.
              const headers = { "cache-control": "no-cache", etag: tag, vary: "Accept-Language, Cookie" }
              return EntityTag.isKnown(request, tag)
                ? Page.html(304, "", { headers })
                : Page.html(200, bytes, { headers })
            }
          )
        }
      },
      refuse
    }
  })
