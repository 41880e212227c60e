/** The routes of the documented API (requirements §4.2 to §4.9), and its metadata. */
import type { HttpConfig } from "./HttpConfig.ts"
import * as Effect from "effect/Effect"
import type { Applications } from "@startlist/core/Applications"
import type { Audit } from "@startlist/core/Audit"
import type { OAuth } from "@startlist/core/OAuth"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserStore } from "@startlist/core/User"
import * as Athlete from "./api/Athlete.ts"
import * as WebhookEvents from "./api/WebhookEvents.ts"
import * as WebhookSubscription from "./api/WebhookSubscription.ts"
import * as Introspect from "./oauth/Introspect.ts"
import * as Metadata from "./oauth/Metadata.ts"
import * as Revoke from "./oauth/Revoke.ts"
import * as Token from "./oauth/Token.ts"
import * as ApiResponse from "./api/ApiResponse.ts"
import type { Handler } from "./Http.ts"
import * as OAuthResponse from "./oauth/OAuthResponse.ts"
import { fallback, type Refuse, type Route, withoutExtraSlashes } from "./Router.ts"
import type { FailureLimit } from "./FailureLimit.ts"

type Routes<R> = Effect.Effect<ReadonlyArray<Route>, never, R>

/**
 * `/oauth/token`, `/oauth/revoke`, `/oauth/introspect` and the metadata. See `Authorization` for `/oauth/authorize`.
 */
export const oauth: Routes<Applications | Audit | HttpConfig | OAuth | Secrets | FailureLimit> = Effect.all([
  Token.make,
  Revoke.make,
  Introspect.make,
  Metadata.make
])

/** `/api/v1/athlete` (requirements §4.5). */
export const athlete: Routes<OAuth | UserStore> = Effect.map(Athlete.make, (route) => [route])

/** `/api/v1/webhook_subscription` (requirements §4.6 to §4.9), with its event log. */
export const webhooks: Routes<Applications | OAuth | Secrets | Subscriptions | FailureLimit> = Effect.all([
  WebhookSubscription.make,
  WebhookEvents.make
])

/** All of these routes. `@startlist/pages` has the pages. */
export const routes: Routes<
  Applications | Audit | HttpConfig | OAuth | Secrets | Subscriptions | FailureLimit | UserStore
> = Effect.map(
  Effect.all([oauth, athlete, webhooks]),
  (made) => made.flat()
)

/** Answers requests that match no route with 404, in the format that their path suggests. */
export const notFound = (others: Refuse = ApiResponse.refuse): Handler =>
  fallback((request, error) => {
    const path = withoutExtraSlashes(request.path)
    const refuse = path.startsWith("/api/")
      ? ApiResponse.refuse
      : /^\/(?:oauth|\.well-known)\//.test(path)
      ? OAuthResponse.refuse
      : others
    return refuse(request, error)
  })
