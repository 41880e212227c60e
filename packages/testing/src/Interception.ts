/** Wraps every operation of all stores, for example in a fault, a delay, a trace or a crash. */
import { ApplicationStore } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { GrantStore } from "@startlist/core/GrantStore"
import type { Stores } from "@startlist/core/Stores"
import { RegistrationStore } from "@startlist/core/Registration"
import type { Conflict, StoreError } from "@startlist/core/Store"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const tags = { ApplicationStore, DeliveryQueue, DeliveryStore, GrantStore, RegistrationStore, SubscriptionStore }

type OperationsOf<Name extends keyof typeof tags> = {
  [Method in keyof Context.Tag.Service<typeof tags[Name]>]: Method extends "wakeUps" ? never
    : `${Name}.${Method & string}`
}[keyof Context.Tag.Service<typeof tags[Name]>]

/** An operation of a store, for example `GrantStore.save`. */
export type StoreOperation = { [Name in keyof typeof tags]: OperationsOf<Name> }[keyof typeof tags]

/** Wraps an operation. `input` is its arguments. Only a `save` may fail with a `Conflict`. */
export type Around = <A, E>(
  operation: StoreOperation,
  effect: Effect.Effect<A, E | StoreError>,
  input: ReadonlyArray<unknown>
) => Effect.Effect<A, E | StoreError | Conflict>

const isOperation = (name: string): name is StoreOperation => (name.split(".")[0] ?? "") in tags

/** The store with `around` on every method. */
const wrap = <Store extends object>(name: keyof typeof tags, store: Store, around: Around): Store =>
  new Proxy(store, {
    get: (target, method) => {
      const member: unknown = Reflect.get(target, method)
      const operation = `${name}.${String(method)}`
      if (typeof member !== "function" || !isOperation(operation)) return member
      return (...input: ReadonlyArray<unknown>) => around(operation, Reflect.apply(member, target, input), input)
    }
  })

/** The stores with `around` on every operation. */
export const intercept = (stores: Context.Context<Stores>, around: Around): Context.Context<Stores> => {
  const wrapped = <Id extends Stores, Store extends object>(name: keyof typeof tags, tag: Context.Tag<Id, Store>) =>
    Context.make(tag, wrap(name, Context.get(stores, tag), around))
  return Context.mergeAll(
    wrapped("ApplicationStore", ApplicationStore),
    wrapped("DeliveryQueue", DeliveryQueue),
    wrapped("DeliveryStore", DeliveryStore),
    wrapped("GrantStore", GrantStore),
    wrapped("RegistrationStore", RegistrationStore),
    wrapped("SubscriptionStore", SubscriptionStore)
  )
}

/** The same as a layer over a layer of stores. */
export const layer = (around: Around): Layer.Layer<Stores, never, Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), (stores) => intercept(stores, around)))
