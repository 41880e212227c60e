/** `/`: what this server is, and where to go. */
import * as Effect from "effect/Effect"
import type { Route } from "../Router.ts"
import { Visitors } from "../Visitors.ts"
import * as ErrorPage from "./ErrorPage.tsx"
import { type Frame, Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const path = "/"

const Welcome = ({ frame }: { readonly frame: Frame }) => {
  const { layout, welcome } = Locale.messagesIn(frame.locale)
  return (
    <Layout frame={frame} title="Startlist">
      <p>{welcome.what}</p>
      <section class="card">
        <ul>
          <li>
            <a href="/account/applications">{layout.applications}</a>: {welcome.applications}
          </li>
          <li>
            <a href="/developer/applications">{layout.developer}</a>: {welcome.developer}
          </li>
          <li>
            <a href="/docs">{welcome.reference}</a> (<a href="/openapi.json">OpenAPI</a>,{" "}
            <a href="/.well-known/oauth-authorization-server">{welcome.metadata}</a>)
          </li>
          <li>
            {welcome.operators}: <a href="/healthz">{welcome.health}</a>, <a href="/readyz">{welcome.readiness}</a>,
            {" "}
            <code>npm run startlist -- --help</code>
          </li>
        </ul>
      </section>
    </Layout>
  )
}

export const make: Effect.Effect<Route, never, Visitors> = Effect.map(Visitors, ({ identify, signOutUrl }) => ({
  path,
  methods: {
    GET: (request) =>
      Effect.map(identify(request), (visitor) => {
        const frame = { locale: Locale.of(request), here: path, visitor, signOutUrl }
        return Page.html(200, <Welcome frame={frame} />)
      })
  },
  refuse: ErrorPage.refuse
}))
