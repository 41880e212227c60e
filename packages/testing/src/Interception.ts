/** Puts something around every operation of all stores: a fault, a delay, a trace, a crash. */
import { ApplicationStore } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { GrantStore } from "@startlist/core/GrantStore"
import type { Stores } from "@startlist/core/Stores"
import { RegistrationStore } from "@startlist/core/Registration"
import type { StoreError } from "@startlist/core/Store"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Which operation of which store. */
export type StoreOperation =
  | `ApplicationStore.${"find" | "list" | "insert" | "save"}`
  | `GrantStore.${"find" | "listByUser" | "save"}`
  | `SubscriptionStore.${"findByApplication" | "insert" | "save" | "remove"}`
  | `RegistrationStore.${"find" | "insert" | "save"}`
  | `DeliveryStore.${
    | "claim"
    | "settle"
    | "release"
    | "find"
    | "list"
    | "attemptsByHour"
    | "again"
    | "enqueue"
    | "purge"}`

/** What is put around an operation; `input` is what the operation was called with. */
export type Around = <A, E>(
  operation: StoreOperation,
  effect: Effect.Effect<A, E | StoreError>,
  input: ReadonlyArray<unknown>
) => Effect.Effect<A, E | StoreError>

/** The stores with `around` at every operation. */
export const intercept = (stores: Context.Context<Stores>, around: Around): Context.Context<Stores> => {
  const applications = Context.get(stores, ApplicationStore)
  const grants = Context.get(stores, GrantStore)
  const subscriptions = Context.get(stores, SubscriptionStore)
  const registrations = Context.get(stores, RegistrationStore)
  const deliveries = Context.get(stores, DeliveryStore)
  return Context.make(ApplicationStore, {
    find: (...input) => around("ApplicationStore.find", applications.find(...input), input),
    list: (...input) => around("ApplicationStore.list", applications.list(...input), input),
    insert: (...input) => around("ApplicationStore.insert", applications.insert(...input), input),
    save: (...input) => around("ApplicationStore.save", applications.save(...input), input)
  }).pipe(
    Context.add(GrantStore, {
      find: (...input) => around("GrantStore.find", grants.find(...input), input),
      listByUser: (...input) => around("GrantStore.listByUser", grants.listByUser(...input), input),
      save: (...input) => around("GrantStore.save", grants.save(...input), input)
    }),
    Context.add(SubscriptionStore, {
      findByApplication: (...input) =>
        around("SubscriptionStore.findByApplication", subscriptions.findByApplication(...input), input),
      insert: (...input) => around("SubscriptionStore.insert", subscriptions.insert(...input), input),
      save: (...input) => around("SubscriptionStore.save", subscriptions.save(...input), input),
      remove: (...input) => around("SubscriptionStore.remove", subscriptions.remove(...input), input)
    }),
    Context.add(RegistrationStore, {
      find: (...input) => around("RegistrationStore.find", registrations.find(...input), input),
      insert: (...input) => around("RegistrationStore.insert", registrations.insert(...input), input),
      save: (...input) => around("RegistrationStore.save", registrations.save(...input), input)
    }),
    Context.add(DeliveryStore, {
      claim: (...input) => around("DeliveryStore.claim", deliveries.claim(...input), input),
      settle: (...input) => around("DeliveryStore.settle", deliveries.settle(...input), input),
      release: (...input) => around("DeliveryStore.release", deliveries.release(...input), input),
      find: (...input) => around("DeliveryStore.find", deliveries.find(...input), input),
      list: (...input) => around("DeliveryStore.list", deliveries.list(...input), input),
      attemptsByHour: (...input) => around("DeliveryStore.attemptsByHour", deliveries.attemptsByHour(...input), input),
      again: (...input) => around("DeliveryStore.again", deliveries.again(...input), input),
      enqueue: (...input) => around("DeliveryStore.enqueue", deliveries.enqueue(...input), input),
      purge: (...input) => around("DeliveryStore.purge", deliveries.purge(...input), input),
      wakeUps: deliveries.wakeUps
    })
  )
}

/** The same as a layer over a layer of stores. */
export const layer = (around: Around): Layer.Layer<Stores, never, Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), (stores) => intercept(stores, around)))
