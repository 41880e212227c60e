/** The routes that people see. */
import * as Effect from "effect/Effect"
import type { Applications } from "@startlist/core/Applications"
import type { Deliveries } from "@startlist/core/Deliveries"
import type { OAuth } from "@startlist/core/OAuth"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { Accounts } from "./Accounts.ts"
import * as ApiResponse from "./api/ApiResponse.ts"
import type { Handler } from "./Message.ts"
import * as Authorize from "./oauth/Authorize.ts"
import * as OAuthResponse from "./oauth/OAuthResponse.ts"
import * as AccountApplications from "./pages/AccountApplications.ts"
import * as Assets from "./pages/Assets.ts"
import * as ApplicationPages from "./pages/developer/ApplicationPages.ts"
import * as DeliveryPages from "./pages/developer/DeliveryPages.ts"
import * as WebhookPages from "./pages/developer/WebhookPages.ts"
import * as ErrorPage from "./pages/ErrorPage.tsx"
import * as Language from "./pages/Language.ts"
import * as Login from "./pages/Login.ts"
import * as Welcome from "./pages/Welcome.tsx"
import { fallback, type Route } from "./Router.ts"
import type { Throttle } from "./Throttle.ts"
import type { Visitors } from "./Visitors.ts"

/** Consent, authorised applications, developer pages, the language switch: for every server, whoever its visitors are. */
export const routes: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | Deliveries | OAuth | Subscriptions | Visitors
> = Effect.map(
  Effect.all([Authorize.make, AccountApplications.make, ApplicationPages.make, WebhookPages.make, DeliveryPages.make]),
  ([authorize, ...pages]) => [authorize, ...pages.flat(), Language.route, ...Assets.routes]
)

/** `/`, for a server that is nothing else: it links to what the service has besides. */
export const welcome: Effect.Effect<Route, never, Visitors> = Welcome.make

/** `/login` and `/logout`: for a service whose visitors are those of `Sessions.layer`. */
export const signIn: Effect.Effect<ReadonlyArray<Route>, never, Accounts | Secrets | Throttle> = Login.make

/** Answers what nothing else answers: programs as they expect it, by the beginning of the path, people with a page. */
export const notFound: Handler = fallback((request, error) =>
  request.path.startsWith("/api/")
    ? ApiResponse.refuse(request, error)
    : request.path.startsWith("/oauth/")
    ? OAuthResponse.refuse(request, error)
    : ErrorPage.refuse(request, error)
)
