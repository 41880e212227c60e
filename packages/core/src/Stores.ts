/** All store ports as one type, which an adapter for a database provides. */
import type { ApplicationStore } from "./Application.ts"
import type { DeliveryStore } from "./Delivery.ts"
import type { DeliveryQueue } from "./DeliveryQueue.ts"
import type { GrantStore } from "./GrantStore.ts"
import type { PersonStore } from "./PersonStore.ts"
import type { RegistrationStore } from "./Registration.ts"
import type { SubscriptionStore } from "./Subscription.ts"

/** Every store port but `UserStore`, which the server with the users provides. */
export type Stores =
  | ApplicationStore
  | GrantStore
  | SubscriptionStore
  | RegistrationStore
  | PersonStore
  | DeliveryQueue
  | DeliveryStore
