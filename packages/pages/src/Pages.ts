/** The routes that people see. */
import * as Effect from "effect/Effect"
import type { Applications } from "@startlist/core/Applications"
import type { Deliveries } from "@startlist/core/Deliveries"
import type { OAuth } from "@startlist/core/OAuth"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { Accounts } from "./Accounts.ts"
import type { Handler } from "@startlist/http/Message"
import * as Authorize from "./internal/Authorize.ts"
import * as AccountApplications from "./internal/AccountApplications.ts"
import * as Assets from "./internal/Assets.ts"
import * as ApplicationPages from "./internal/developer/ApplicationPages.ts"
import * as DeliveryPages from "./internal/developer/DeliveryPages.ts"
import * as WebhookPages from "./internal/developer/WebhookPages.ts"
import * as ErrorPage from "./internal/ErrorPage.ts"
import * as Language from "./internal/Language.ts"
import * as Login from "./internal/Login.ts"
import * as ReferencePage from "./internal/ReferencePage.tsx"
import * as Welcome from "./internal/Welcome.tsx"
import * as Protocol from "@startlist/http/Protocol"
import type { Route } from "@startlist/http/Router"
import type { Throttle } from "@startlist/http/Throttle"
import type { Authentication } from "./Authentication.ts"

type Routes<R> = Effect.Effect<ReadonlyArray<Route>, never, R>

/** What every page needs: its style sheet, and the switch of languages. */
const furniture: Routes<never> = Effect.map(
  Effect.all([Language.make, Assets.make]),
  ([language, assets]) => [language, ...assets]
)

/** `/oauth/authorize`: the page that asks for consent (requirements §4.1). */
export const consent: Routes<OAuth | Authentication> = Effect.map(
  Effect.all([Authorize.make, furniture]),
  ([authorize, others]) => [authorize, ...others]
)

/** `/account/applications`: what a user has authorised, and taking it back (requirements §1). */
export const account: Routes<OAuth | Authentication> = Effect.map(
  Effect.all([AccountApplications.make, furniture]),
  (made) => made.flat()
)

/** `/developer/applications`: a platform user's applications, their secrets, subscriptions and deliveries. */
export const developer: Routes<Applications | Deliveries | Subscriptions | Throttle | Authentication> = Effect.map(
  Effect.all([ApplicationPages.make, WebhookPages.make, DeliveryPages.make, furniture]),
  (made) => made.flat()
)

/** Consent, authorised applications, developer pages: for every server, however its users sign in. */
export const routes: Routes<Applications | Deliveries | OAuth | Subscriptions | Throttle | Authentication> = Effect.map(
  Effect.all([consent, account, developer]),
  (made) => made.flat()
)

/** `/`, for a server that is nothing else: it links to what the service has besides. */
export const welcome: Effect.Effect<Route, never, Authentication> = Welcome.make

/** `/docs`: HTML about the API, in English and without scripts, in the frame of the pages. */
export const reference: (content: Effect.Effect<string>) => Effect.Effect<Route> = ReferencePage.make

/** `/login` and `/logout`: for a service that signs people in itself, with `Sessions.layer`. */
export const signIn: Routes<Accounts | Secrets | Throttle> = Login.make

/** Answers what no route matches: programs as they expect it, people with a page. */
export const notFound: Effect.Effect<Handler> = Effect.map(ErrorPage.make, ({ refuse }) => Protocol.notFound(refuse))
