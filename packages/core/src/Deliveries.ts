/** What owners and operators see of the deliveries, and the removal of old ones. The work itself is in `Worker`. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Delivery, type DeliveryId, DeliveryNotFound, DeliveryStore } from "./Delivery.ts"
import type { StoreError } from "./Store.ts"
import { SubscriptionNotFound } from "./Subscription.ts"

export class Deliveries extends Context.Tag("@startlist/core/Deliveries")<Deliveries, Deliveries.Service>() {}

export declare namespace Deliveries {
  export interface Service {
    readonly find: (id: DeliveryId) => Effect.Effect<Delivery, DeliveryNotFound | StoreError>
    readonly list: DeliveryStore.Service["list"]
    /** Delivers the event once more: a new delivery with the same `webhook-id`. */
    readonly redeliver: (
      id: DeliveryId
    ) => Effect.Effect<Delivery, DeliveryNotFound | SubscriptionNotFound | StoreError>
  }
}

const make = Effect.gen(function*() {
  const store = yield* DeliveryStore

  const find = (id: DeliveryId) =>
    Effect.flatMap(
      store.find(id),
      Option.match({ onNone: () => new DeliveryNotFound({ deliveryId: id }), onSome: Effect.succeed })
    )

  const redeliver = Effect.fn("Deliveries.redeliver")(function*(id: DeliveryId) {
    const again = yield* store.again(yield* find(id), yield* DateTime.now)
    return Option.isSome(again) ? again.value : yield* new SubscriptionNotFound()
  })

  return Deliveries.of({ find, list: store.list, redeliver })
})

export const layer: Layer.Layer<Deliveries, never, DeliveryStore> = Layer.effect(Deliveries, make)
