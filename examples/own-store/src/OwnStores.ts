/** All stores on one SQLite file, for `Services.layer` and `Worker.run` of the core. */
import {
  Application,
  Delivery,
  DeliveryQueue,
  Grant,
  PersonalData,
  Registration,
  type Services,
  Store,
  Subscription
} from "@startlist/core"
import { Context, Effect, Layer, PubSub, Stream } from "effect"
import { makePersons } from "./Erasure.ts"
import { makeGrants } from "./Grants.ts"
import { makeApplications, makeRegistrations, makeSubscriptions } from "./People.ts"
import { makeQueue } from "./Queue.ts"
import * as Seal from "./Seal.ts"
import { open, tables } from "./Sqlite.ts"

export interface Options {
  /** Path of the file, or `:memory:`. */
  readonly filename: string
  /** Key of 32 bytes that seals the signing secrets. Store it outside of the database. */
  readonly key: Uint8Array
  /** The statements that make the tables. */
  readonly tables?: string
}

export const layerWith = (options: Options): Layer.Layer<Services.Stores, Store.StoreError> =>
  Layer.scopedContext(Effect.gen(function*() {
    const atomically = yield* open(options.filename, options.tables ?? tables)
    const seal = Seal.make(options.key)
    // Hints for the workers of this process. At most one waits for each worker.
    const hints = yield* PubSub.sliding<void>(1)
    const wake = PubSub.publish(hints, undefined)
    const deliveries = makeQueue(atomically, seal, Stream.fromPubSub(hints), wake)
    return Context.make(Application.ApplicationStore, makeApplications(atomically, seal)).pipe(
      Context.add(Grant.GrantStore, makeGrants(atomically, wake)),
      Context.add(Subscription.SubscriptionStore, makeSubscriptions(atomically)),
      Context.add(PersonalData.PersonStore, makePersons(atomically, wake)),
      Context.add(Registration.RegistrationStore, makeRegistrations(atomically, wake)),
      Context.add(Delivery.DeliveryStore, deliveries),
      Context.add(DeliveryQueue.DeliveryQueue, deliveries)
    )
  }))
