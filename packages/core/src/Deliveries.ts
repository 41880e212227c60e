/** What owners and operators see and ask of the deliveries. The work itself is in `Worker`. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ApplicationId } from "./Application.ts"
import { type AttemptHour, type Delivery, type DeliveryId, DeliveryNotFound, DeliveryStore } from "./Delivery.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { Audience, type Event, type EventOrigin } from "./Event.ts"
import { makeOrigins } from "./internal/eventOrigins.ts"
import { emptyUpdates } from "./Registration.ts"
import type { Secrets } from "./Secrets.ts"
import { maxId, StoreError } from "./Store.ts"
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
    /** Cancels all that is pending for an application. Answers how many. What is queued meanwhile may stay. */
    readonly cancelPending: (id: ApplicationId) => Effect.Effect<number, StoreError>
    /** Sends an event in which nothing happened to this application's subscription, and to no other. */
    readonly sendTest: (id: ApplicationId) => Effect.Effect<Delivery, SubscriptionNotFound | StoreError>
    /**
     * The present hour of the clock and the 23 before it, oldest first, as far as the newest `lastDayLimit` deliveries
     * tell.
     */
    readonly lastDay: (id: ApplicationId) => Effect.Effect<ReadonlyArray<AttemptHour>, StoreError>
  }
}

/** So many deliveries are looked at for the last day of an application. */
export const lastDayLimit = 5000

/** So many deliveries are cancelled at a time. */
const pageSize = 500

const hourMillis = 3_600_000

/**
 * A registration event like any other (requirements §6.2), so that a receiver is tried as it is. Its identifier counts
 * down from the largest one by the time: no registration has it, and no test waits for the one before (law 6).
 */
const testEvent = ({ id, time, trace }: EventOrigin): Event => ({
  id,
  aspectType: "updated",
  objectType: "registration",
  objectId: maxId - time.epochMillis,
  updates: { ...emptyUpdates, registration_status: "test", comment: "A test event: no registration has changed." },
  time,
  trace
})

const make = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const store = yield* DeliveryStore
  const origins = yield* makeOrigins

  const find = (id: DeliveryId) =>
    Effect.flatMap(
      store.find(id),
      Option.match({ onNone: () => new DeliveryNotFound({ deliveryId: id }), onSome: Effect.succeed })
    )

  const redeliver = Effect.fn("Deliveries.redeliver")(function*(id: DeliveryId) {
    const again = yield* queue.again(yield* find(id), yield* DateTime.now)
    return Option.isSome(again) ? again.value : yield* new SubscriptionNotFound()
  })

  const cancelPending = Effect.fn("Deliveries.cancelPending")(function*(id: ApplicationId) {
    const now = yield* DateTime.now
    let count = 0
    while (true) {
      const cancelled = yield* queue.cancel(id, now, pageSize)
      if (cancelled === 0) return count
      count += cancelled
    }
  })

  const sendTest = Effect.fn("Deliveries.sendTest")(function*(applicationId: ApplicationId) {
    const event = testEvent(yield* origins)
    const [id] = yield* queue.enqueue([{ event, audience: Audience.Application({ applicationId }) }])
    if (id === undefined) return yield* new SubscriptionNotFound()
    return yield* Effect.catchTag(find(id), "DeliveryNotFound", (cause) => new StoreError({ cause }))
  })

  const lastDay = Effect.fn("Deliveries.lastDay")(function*(applicationId: ApplicationId) {
    const now = (yield* DateTime.now).epochMillis
    const first = now - now % hourMillis - 23 * hourMillis
    const from = DateTime.unsafeMake(first)
    const hours = yield* store.attemptsByHour({ applicationId, from, limit: lastDayLimit })
    return Array.from({ length: 24 }, (_, index): AttemptHour => {
      const startsAt = DateTime.unsafeMake(first + index * hourMillis)
      return hours.find((hour) => hour.startsAt.epochMillis === startsAt.epochMillis) ??
        { startsAt, delivered: 0, failed: 0, latency: Option.none() }
    })
  })

  return Deliveries.of({ cancelPending, find, lastDay, list: store.list, redeliver, sendTest })
})

export const layer: Layer.Layer<Deliveries, never, DeliveryQueue | DeliveryStore | Secrets> = Layer
  .effect(
    Deliveries,
    make
  )
