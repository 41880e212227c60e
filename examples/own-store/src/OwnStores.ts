/** All of Startlist's stores on one SQLite file: what `Services.layer` and `Worker.run` of the core need. */
import {
  Application,
  Delivery,
  DeliveryQueue,
  GrantStore,
  Registration,
  Store,
  type Stores,
  Subscription
} from "@startlist/core"
import { Context, Effect, Layer, PubSub, Stream } from "effect"
import { makeGrants } from "./Grants.ts"
import { makeApplications, makeRegistrations, makeSubscriptions } from "./People.ts"
import { makeQueue } from "./Queue.ts"
import * as Seal from "./Seal.ts"
import { open, tables } from "./Sqlite.ts"

export interface Options {
  /** `:memory:`, or where the file is. */
  readonly filename: string
  /** Seals the webhooks' signing secrets: 32 bytes that are kept elsewhere. */
  readonly key: Uint8Array
  /** The tables; for those who want others. */
  readonly tables?: string
}

export const layerWith = (options: Options): Layer.Layer<Stores.Stores, Store.StoreError> =>
  Layer.scopedContext(Effect.gen(function*() {
    const atomically = yield* open(options.filename, options.tables ?? tables)
    const seal = Seal.make(options.key)
    // Hints for the workers of this process: one waits for each of them.
    const hints = yield* PubSub.sliding<void>(1)
    const wake = PubSub.publish(hints, undefined)
    const deliveries = makeQueue(atomically, seal, Stream.fromPubSub(hints), wake)
    return Context.make(Application.ApplicationStore, makeApplications(atomically, seal)).pipe(
      Context.add(GrantStore.GrantStore, makeGrants(atomically, wake)),
      Context.add(Subscription.SubscriptionStore, makeSubscriptions(atomically)),
      Context.add(Registration.RegistrationStore, makeRegistrations(atomically, wake)),
      Context.add(Delivery.DeliveryStore, deliveries),
      Context.add(DeliveryQueue.DeliveryQueue, deliveries)
    )
  }))
