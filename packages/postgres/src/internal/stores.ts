/** All stores of one database. */
import { ApplicationStore } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { GrantStore } from "@startlist/core/Grant"
import { ImportStore } from "@startlist/core/ImportStore"
import { PersonStore } from "@startlist/core/PersonalData"
import type { Stores } from "@startlist/core/Services"
import { RegistrationStore } from "@startlist/core/Registration"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Database } from "../Database.ts"
import { Seal } from "../Seal.ts"
import * as applications from "./applicationStore.ts"
import * as queue from "./deliveryQueue.ts"
import * as deliveries from "./deliveryStore.ts"
import * as grants from "./grantStore.ts"
import * as imports from "./importStore.ts"
import * as persons from "./personStore.ts"
import * as registrations from "./registrationStore.ts"
import * as subscriptions from "./subscriptionStore.ts"

export const layer: Layer.Layer<Stores | ImportStore, never, Database | Seal> = Layer.effectContext(
  Effect.gen(function*() {
    const database = yield* Database
    const seal = yield* Seal
    const grantStore = yield* grants.make(database)
    const deliveryQueue = queue.make(database, seal)
    const applicationStore = yield* applications.make(database, seal)
    return Context.make(ApplicationStore, applicationStore).pipe(
      Context.add(GrantStore, grantStore),
      Context.add(ImportStore, yield* imports.make(database, seal, applicationStore, grantStore)),
      Context.add(PersonStore, persons.make(database, grantStore, registrations.makeListByAthlete(database))),
      Context.add(SubscriptionStore, subscriptions.make(database, deliveryQueue)),
      Context.add(RegistrationStore, yield* registrations.make(database)),
      Context.add(DeliveryQueue, deliveryQueue),
      Context.add(DeliveryStore, deliveries.make(database))
    )
  })
)
