/** The routes of the documented interface that applications call (requirements §4.2 to §4.9), and its metadata. */
import * as Effect from "effect/Effect"
import type { Applications } from "@startlist/core/Applications"
import type { OAuth } from "@startlist/core/OAuth"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserStore } from "@startlist/core/User"
import * as Athlete from "./api/Athlete.ts"
import * as WebhookSubscription from "./api/WebhookSubscription.ts"
import * as Introspect from "./oauth/Introspect.ts"
import * as Metadata from "./oauth/Metadata.ts"
import * as Revoke from "./oauth/Revoke.ts"
import * as Token from "./oauth/Token.ts"
import type { Route } from "./Router.ts"
import type { Throttle } from "./Throttle.ts"

/** All of them; the pages are in `Pages`. */
export const routes: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | OAuth | Secrets | Subscriptions | Throttle | UserStore
> = Effect.all([
  Token.make,
  Revoke.make,
  Introspect.make,
  Metadata.make,
  Athlete.make,
  WebhookSubscription.make
])
