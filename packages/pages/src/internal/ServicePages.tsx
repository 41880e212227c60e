/** The first page of a server that is only Startlist: `/` with its purpose and links. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication } from "../Authentication.ts"
import * as ErrorPage from "./ErrorPage.ts"
import { Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const Welcome = ({ frame }: { readonly frame: Page.Frame }) => {
  const { layout, login, welcome } = Locale.textsIn(frame.locale)
  const { guide, name } = frame.brand
  return (
    <Layout frame={frame} title={name} narrow>
      <p class="lead">{welcome.what(name)}</p>
      <p class="row">
        {Option.isSome(frame.signedIn)
          ? <a class="button" href={`${frame.base}/account/applications`}>{layout.applications}</a>
          : <a class="button" href={`${frame.base}/login`}>{login.submit}</a>}
        <span class="muted">{welcome.applications}</span>
      </p>
      <section class="card">
        <h2>{layout.developer}</h2>
        <p>{welcome.developers}</p>
        <ul>
          <li>
            <a href={`${frame.base}/developer/applications`}>{welcome.register}</a>
          </li>
          {guide === undefined || guide.endsWith(`${frame.base}/docs`) ? null : (
            <li>
              <a href={guide}>{welcome.guide}</a>
            </li>
          )}
          <li>
            <a href={`${frame.base}/docs`}>{welcome.reference}</a> (<a href={`${frame.base}/openapi.json`}>OpenAPI</a>,
            {" "}
            <a href={`${frame.base}/.well-known/oauth-authorization-server`}>{welcome.metadata}</a>)
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
