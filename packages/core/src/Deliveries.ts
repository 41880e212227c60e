/** Operations on deliveries for owners and operators. `Worker` makes the deliveries. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ApplicationId } from "./Application.ts"
import { type Delivery, type DeliveryFilter, type DeliveryId, DeliveryNotFound, DeliveryStore } from "./Delivery.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { Audience, type Event, type EventOrigin, makeOrigins } from "./Event.ts"
import { emptyUpdates } from "./Registration.ts"
import { foundOr, maxId, StoreError } from "./Store.ts"
import { SubscriptionNotFound } from "./Subscription.ts"

/**
 * Finds, repeats and cancels deliveries.
 * @example
 * ```ts
 * import { Deliveries, type Delivery } from "@startlist/core"
 * import { Effect } from "effect"
 * export const repeat = (id: Delivery.DeliveryId) =>
 *   Effect.flatMap(Deliveries.Deliveries, (deliveries) => deliveries.redeliver(id))
 * ```
 */
export class Deliveries extends Context.Tag("@startlist/core/Deliveries")<Deliveries, Deliveries.Service>() {}

/** Selects deliveries to repeat: the next ones after `after`, oldest first, that ended from `since` until before `until`. */
export interface Redelivery extends Omit<DeliveryFilter, "limit" | "order"> {
  readonly since: DateTime.Utc
  /** At most the present, so that repeats of this redelivery that fail are not repeated by its next parts. */
  readonly until: DateTime.Utc
  readonly only: "unrepeated" | "latest"
}

/** Maximum number of deliveries that one part of a redelivery reads. */
const redeliveryPart = 200

export declare namespace Deliveries {
  export interface Service extends Pick<DeliveryStore.Service, "attempts" | "list" | "repeats" | "search"> {
    /** Finds a delivery. It is removed `Policy.deliveryRetention` after its end. */
    readonly find: (id: DeliveryId) => Effect.Effect<Delivery, DeliveryNotFound | StoreError>
    /** Delivers the event again: a new delivery with the same `webhook-id`. */
    readonly redeliver: (
      id: DeliveryId
    ) => Effect.Effect<Delivery, DeliveryNotFound | SubscriptionNotFound | StoreError>
    /** Delivers a part of many events again (`DeliveryQueue.again`). `next` begins the next part. May be repeated. */
    readonly redeliverMany: (wanted: Redelivery) => Effect.Effect<
      { readonly redelivered: number; readonly skipped: number; readonly next: Option.Option<DeliveryId> },
      StoreError
    >
    /** Cancels the newest pending deliveries of an application, at most `maxCancelled`. Returns their number. */
    readonly cancelPending: (id: ApplicationId) => Effect.Effect<number, StoreError>
    /** Sends a test event to this application's subscription only. */
    readonly sendTest: (id: ApplicationId) => Effect.Effect<Delivery, SubscriptionNotFound | StoreError>
  }
}

/** Maximum number of deliveries that one call cancels. A long backlog needs several, since each call has little time. */
export const maxCancelled = 5000

/**
 * A registration event like any other (requirements §6.2), so that it tests the real receiver. Its identifier counts
 * down from the largest one by the time: no registration has it, and no test waits for the previous one (law 6).
 */
const testEvent = (origin: EventOrigin): Event => ({
  aspectType: "updated",
  objectType: "registration",
  objectId: maxId - origin.time.epochMillis,
  sequence: 1,
  updates: { ...emptyUpdates, registration_status: "test", comment: "A test event: no registration has changed." },
  ...origin
})

const make = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const store = yield* DeliveryStore
  const origins = yield* makeOrigins
  const { attempts, list, repeats, search } = store

  const find = (id: DeliveryId) => foundOr(store.find(id), () => new DeliveryNotFound({ deliveryId: id }))

  const redeliver = Effect.fn("Deliveries.redeliver")(function*(id: DeliveryId) {
    const again = yield* queue.again(yield* find(id), yield* DateTime.now)
    if (Option.isSome(again)) return again.value
    // A delivery that was purged since is not found.
    yield* find(id)
    return yield* new SubscriptionNotFound()
  })

  const redeliverMany = Effect.fn("Deliveries.redeliverMany")(function*({ only, since, until, ...filter }: Redelivery) {
    const page = yield* list({ ...filter, limit: redeliveryPart, order: "oldest first" })
    const isWanted = (at: DateTime.Utc) => at.epochMillis >= since.epochMillis && at.epochMillis < until.epochMillis
    const wanted = page.filter(({ endedAt }) => Option.exists(endedAt, isWanted))
    const inOrder = wanted.sort((a, b) => a.event.sequence - b.event.sequence)
    const now = yield* DateTime.now
    const made = yield* Effect.forEach(inOrder, (delivery) => queue.again(delivery, now, only))
    const redelivered = made.filter(Option.isSome).length
    const next = Option.fromNullable(page[redeliveryPart - 1]?.id)
    return { redelivered, skipped: wanted.length - redelivered, next }
  })

  const cancelPending = Effect.fn("Deliveries.cancelPending")(function*(id: ApplicationId) {
    return yield* queue.cancel(id, yield* DateTime.now, maxCancelled)
  })

  const sendTest = Effect.fn("Deliveries.sendTest")(function*(applicationId: ApplicationId) {
    const event = testEvent(yield* origins)
    const [id] = yield* queue.enqueue([{ event, audience: Audience.Application({ applicationId }) }])
    if (id === undefined) return yield* new SubscriptionNotFound()
    return yield* Effect.catchTag(find(id), "@startlist/core/DeliveryNotFound", (cause) => new StoreError({ cause }))
  })

  return Deliveries.of({ attempts, cancelPending, find, list, redeliver, redeliverMany, repeats, search, sendTest })
})

/** The service over its ports. */
export const layer = Layer.effect(Deliveries, make)
