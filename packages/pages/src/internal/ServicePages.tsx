/** The first page of a server that is only Startlist: `/` with its purpose and links. */
import * as Effect from "effect/Effect"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication } from "../Authentication.ts"
import * as ErrorPage from "./ErrorPage.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const Welcome = ({ frame }: { readonly frame: Page.Frame }) => {
  const { colon, layout, welcome } = Locale.textsIn(frame.locale)
  return (
    <Layout frame={frame} title={frame.brand.name}>
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
export const makeWelcome: Effect.Effect<Route, never, Authentication | HttpConfig> = Effect.gen(function*() {
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
