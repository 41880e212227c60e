/** All services of the core over its ports. */
import * as Layer from "effect/Layer"
import * as Applications from "./Applications.ts"
import type { Callbacks } from "./Callbacks.ts"
import * as Deliveries from "./Deliveries.ts"
import * as Events from "./Events.ts"
import * as OAuth from "./OAuth.ts"
import * as PersonalData from "./PersonalData.ts"
import * as Registrations from "./Registrations.ts"
import type { Secrets } from "./Secrets.ts"
import type { Stores } from "./Stores.ts"
import * as Subscriptions from "./Subscriptions.ts"
import type { UserStore } from "./User.ts"

/** All services of the core. */
export type Services =
  | Applications.Applications
  | OAuth.OAuth
  | Registrations.Registrations
  | PersonalData.PersonalData
  | Subscriptions.Subscriptions
  | Deliveries.Deliveries
  | Events.Events

/** The services over the stores, the users, the callbacks and the secrets. */
export const layer: Layer.Layer<Services, never, Stores | UserStore | Callbacks | Secrets> = Layer.mergeAll(
  Layer.provideMerge(PersonalData.layer, OAuth.layer),
  Registrations.layer,
  Subscriptions.layer,
  Deliveries.layer,
  Events.layer
).pipe(Layer.provideMerge(Applications.layer))
