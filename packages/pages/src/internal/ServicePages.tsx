/** Pages of a server that is only Startlist: `/` with its purpose and links, and `/docs` with the API. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication } from "../Authentication.ts"
import * as ErrorPage from "./ErrorPage.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"
import * as SharedRoutes from "./SharedRoutes.ts"

const Welcome = ({ frame }: { readonly frame: Page.Frame }) => {
  const { colon, layout, welcome } = Locale.textsIn(frame.locale)
  return (
    <Layout frame={frame} title="Startlist">
      <p>{welcome.what}</p>
      <section class="card">
        <ul>
          <li>
            <a href={`${frame.base}/account/applications`}>{layout.applications}</a>
            {colon}
            {welcome.applications}
          </li>
          <li>
            <a href={`${frame.base}/developer/applications`}>{layout.developer}</a>
            {colon}
            {welcome.developer}
          </li>
          <li>
            <a href={`${frame.base}/docs`}>{welcome.reference}</a> (<a href={`${frame.base}/openapi.json`}>OpenAPI</a>,
            {" "}
            <a href={`${frame.base}/.well-known/oauth-authorization-server`}>{welcome.metadata}</a>)
          </li>
          <li>
            {welcome.operators}
            {colon}
            <a href={`${frame.base}/healthz`}>{welcome.health}</a>,{" "}
            <a href={`${frame.base}/readyz`}>{welcome.readiness}</a>, <code>npm run startlist -- --help</code>
          </li>
        </ul>
      </section>
    </Layout>
  )
}

/** `/`: the purpose of this server, and links. */
export const makeWelcome: Effect.Effect<Route, never, Authentication> = Effect.gen(function*() {
  const { identify, signOutUrl } = yield* Authentication
  const here = `${basePath(yield* HttpConfig)}/`
  const frameOf = yield* Page.makeFrame
  const { refuse } = yield* ErrorPage.make
  return {
    path: "/",
    methods: {
      GET: (request) =>
        Effect.map(identify(request), (signedIn) => {
          const frame = frameOf({ locale: Locale.of(request), here, signedIn, signOutUrl })
          return Page.html(200, <Welcome frame={frame} />)
        })
    },
    refuse
  }
})

interface Rendered {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly tag: string
}

const tagOf = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", bytes)),
    (digest) =>
      SharedRoutes.entityTag(
        [...new Uint8Array(digest, 0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
      )
  )

/**
 * `/docs`: serves `content` in the frame of the pages. It is English HTML without scripts and styles. Each language is rendered
 * once, and all responses share its bytes.
 */
export const makeReference = (content: Effect.Effect<string>): Effect.Effect<Route> =>
  Effect.gen(function*() {
    const base = basePath(yield* HttpConfig)
    const frameOf = yield* Page.makeFrame
    const { refuse } = yield* ErrorPage.make
    const rendered = new Map<Locale.Locale, Rendered>()

    const render = (locale: Locale.Locale) =>
      Effect.map(content, (__html) => {
        const frame = frameOf({ locale, here: `${base}/docs`, signedIn: Option.none(), signOutUrl: `${base}/logout` })
        const page = Page.render(
          <Layout frame={frame} title={Locale.textsIn(locale).welcome.reference}>
            <div class="reference" lang="en" dangerouslySetInnerHTML={{ __html }} />
          </Layout>
        )
        return new TextEncoder().encode(page)
      }).pipe(
        Effect.flatMap((bytes) => Effect.map(tagOf(bytes), (tag) => ({ bytes, tag }))),
        Effect.tap((made) => Effect.sync(() => rendered.set(locale, made)))
      )

    return {
      path: "/docs",
      methods: {
        GET: (request) => {
          const locale = Locale.of(request)
          const known = rendered.get(locale)
          return Effect.map(
            known === undefined ? render(locale) : Effect.succeed(known),
            ({ bytes, tag }) => {
              // Browsers store the page and validate it each time: 304 if nothing has changed.
              const headers = { "cache-control": "no-cache", etag: tag, vary: "Accept-Language, Cookie" }
              return SharedRoutes.hasTag(request, tag)
                ? Page.html(304, "", { headers })
                : Page.html(200, bytes, { headers })
            }
          )
        }
      },
      refuse
    }
  })
