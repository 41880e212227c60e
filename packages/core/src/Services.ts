/** All services of the core over its ports, and all store ports as one type, which an adapter for a database provides. */
import * as Layer from "effect/Layer"
import * as Applications from "./Applications.ts"
import type { Audit } from "./Audit.ts"
import type { ApplicationStore } from "./Application.ts"
import type { Callbacks } from "./Callbacks.ts"
import * as Deliveries from "./Deliveries.ts"
import type { DeliveryStore } from "./Delivery.ts"
import type { DeliveryQueue } from "./DeliveryQueue.ts"
import type { GrantStore } from "./Grant.ts"
import * as OAuth from "./OAuth.ts"
import * as PersonalData from "./PersonalData.ts"
import type { PersonStore } from "./PersonalData.ts"
import type { RegistrationStore } from "./Registration.ts"
import * as Registrations from "./Registrations.ts"
import type { Secrets } from "./Secrets.ts"
import type { SubscriptionStore } from "./Subscription.ts"
import * as Subscriptions from "./Subscriptions.ts"
import type { UserStore } from "./User.ts"

/** Every store port but `UserStore`, which the server with the users provides. */
export type Stores =
  | ApplicationStore
  | GrantStore
  | SubscriptionStore
  | RegistrationStore
  | PersonStore
  | DeliveryQueue
  | DeliveryStore

/** All services of the core. */
export type Services =
  | Applications.Applications
  | OAuth.OAuth
  | Registrations.Registrations
  | PersonalData.PersonalData
  | Subscriptions.Subscriptions
  | Deliveries.Deliveries

/** The services over the stores, the users, the callbacks, the secrets and the audit. */
export const layer: Layer.Layer<Services, never, Stores | UserStore | Callbacks | Secrets | Audit> = Layer.mergeAll(
  OAuth.layer,
  PersonalData.layer,
  Registrations.layer,
  Subscriptions.layer,
  Deliveries.layer
).pipe(Layer.provideMerge(Applications.layer))
