/** The routes that people see. */
import * as Effect from "effect/Effect"
import type { Applications } from "@startlist/core/Applications"
import type { Audit } from "@startlist/core/Audit"
import type { Deliveries } from "@startlist/core/Deliveries"
import type { OAuth } from "@startlist/core/OAuth"
import type { UserStore } from "@startlist/core/User"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { Accounts } from "./Accounts.ts"
import * as Compression from "@startlist/http/Compression"
import type { Handler, Request } from "@startlist/http/Http"
import * as Authorize from "./internal/Authorize.ts"
import * as AccountApplications from "./internal/AccountApplications.ts"
import * as ApplicationPages from "./internal/developer/ApplicationPages.ts"
import * as DeliveryPages from "./internal/developer/DeliveryPages.ts"
import * as SecretPages from "./internal/developer/SecretPages.ts"
import * as SentDeliveries from "./internal/developer/SentDeliveries.ts"
import * as WebhookPages from "./internal/developer/WebhookPages.tsx"
import * as ErrorPage from "./internal/ErrorPage.ts"
import * as Login from "./internal/Login.tsx"
import * as SharedRoutes from "./internal/SharedRoutes.ts"
import * as Security from "./internal/Security.ts"
import * as ReferencePages from "./internal/ReferencePages.tsx"
import * as ServicePages from "./internal/ServicePages.tsx"
import type { HttpConfig } from "@startlist/http/HttpConfig"
import * as Protocol from "@startlist/http/Protocol"
import type { Route } from "@startlist/http/Router"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import type { Authentication } from "./Authentication.ts"

type Routes<R> = Effect.Effect<ReadonlyArray<Route>, never, R>

const compressed = <R>(routes: Routes<R>): Routes<R> =>
  Effect.map(routes, (made) => made.map((route) => ({ ...route, isCompressed: true })))

/** `/oauth/authorize`: the page that asks for consent (requirements §4.1). */
export const consent: Routes<Audit | Authentication | HttpConfig | OAuth | UserStore> = compressed(Effect.map(
  Effect.all([Authorize.make, SharedRoutes.make]),
  ([authorize, others]) => [authorize, ...others]
))

/**
 * `/account/applications`: a user's authorised applications, and their revocation (requirements §1). `/account` leads
 * there.
 */
export const account: Routes<Audit | Authentication | HttpConfig | OAuth | Secrets> = compressed(Effect.map(
  Effect.all([
    AccountApplications.make,
    Effect.all([SharedRoutes.alias("/account", "/account/applications")]),
    SharedRoutes.make
  ]),
  (made) => made.flat()
))

/**
 * `/developer/applications`: a platform user's applications, their secrets, subscriptions and deliveries. `/developer`
 * leads there.
 */
export const developer: Routes<
  Applications | Audit | Authentication | Deliveries | HttpConfig | OAuth | Secrets | Subscriptions | FailureLimit
> = compressed(
  Effect.map(
    Effect.all([
      ApplicationPages.make,
      WebhookPages.make,
      SecretPages.make,
      DeliveryPages.make,
      Effect.all([SharedRoutes.alias("/developer", "/developer/applications")]),
      SharedRoutes.make
    ]),
    (made) => made.flat()
  ).pipe(Effect.provideServiceEffect(SentDeliveries.SentDeliveries, SentDeliveries.make))
)

/** Consent, authorised applications and developer pages, for servers with any kind of sign-in. */
export const routes: Routes<
  | Applications
  | Audit
  | Authentication
  | Deliveries
  | HttpConfig
  | OAuth
  | Secrets
  | Subscriptions
  | FailureLimit
  | UserStore
> = Effect.map(
  Effect.all([consent, account, developer]),
  (made) => made.flat()
)

/** `/`, `/favicon.ico` and `/robots.txt`, for a server that is only Startlist. */
export const welcome: Routes<Authentication | HttpConfig> = compressed(
  Effect.zipWith(ServicePages.makeWelcome, SharedRoutes.makeWellKnown, (page, others) => [page, ...others])
)

/**
 * `/docs` and `/docs/{group}`: the API, in the frame of the pages and without scripts. `document` is an OpenAPI document, in
 * JSON text.
 */
export const reference = (document: Effect.Effect<string>): Routes<HttpConfig> =>
  compressed(ReferencePages.make(document))

/**
 * `/login` and `/logout`, passwords and sessions: for a service that signs users in itself, with `Sessions.layer`.
 * `/.well-known/change-password` leads to `/account/security`, and `/login/` to `/login`.
 */
export const signIn: Routes<Accounts | Audit | FailureLimit | HttpConfig | OAuth | Secrets | UserStore> = compressed(
  Effect.map(
    Effect.all([
      Login.make,
      Security.make,
      Effect.all([
        SharedRoutes.alias("/login/", "/login"),
        SharedRoutes.alias("/.well-known/change-password", "/account/security")
      ])
    ]),
    (made) => made.flat()
  )
)

/** Answers requests without a route: JSON for programs, a page for people. */
export const notFound: Effect.Effect<Handler, never, HttpConfig> = Effect.map(ErrorPage.make, ({ refuse }) => {
  const handler = Protocol.notFound(refuse)
  const compress = Compression.make()
  return Object.assign(
    (request: Request) => Effect.flatMap(handler(request), (response) => compress(request, response)),
    handler
  )
})
