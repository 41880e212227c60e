/** What owners and operators see and ask of the deliveries. The work itself is in `Worker`. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ApplicationId } from "./Application.ts"
import {
  type AttemptHour,
  type Delivery,
  type DeliveryId,
  DeliveryNotFound,
  DeliveryStore,
  type State
} from "./Delivery.ts"
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
    /**
     * Looks for deliveries among the next `searchLimit` of an application, newest first. `next`: where to continue, if
     * there may be more.
     */
    readonly search: (search: Search) => Effect.Effect<Found, StoreError>
    /** The newest delivery that failed, if none was delivered since. */
    readonly failing: (id: ApplicationId) => Effect.Effect<Option.Option<Delivery>, StoreError>
    /** Delivers the event once more: a new delivery with the same `webhook-id`. */
    readonly redeliver: (
      id: DeliveryId
    ) => Effect.Effect<Delivery, DeliveryNotFound | SubscriptionNotFound | StoreError>
    /**
     * Delivers again what failed since an instant to the subscription of the newest delivery, in the order of the events: at
     * most `againLimit` among the newest `searchLimit` deliveries. An event that was delivered again since is left out, so
     * this can be repeated. Returns how many.
     */
    readonly redeliverFailed: (id: ApplicationId, since: DateTime.Utc) => Effect.Effect<number, StoreError>
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

/** Which deliveries of an application to look for. */
export interface Search {
  readonly applicationId: ApplicationId
  readonly state: Option.Option<State>
  /** The identifier of the object that the event is about, or the `webhook-id`. */
  readonly text: Option.Option<string>
  /** The event occurred at this instant or later, and before the other one. */
  readonly since: Option.Option<DateTime.Utc>
  readonly until: Option.Option<DateTime.Utc>
  readonly after: Option.Option<DeliveryId>
  /** At most so many are answered. */
  readonly limit: number
}

export interface Found {
  readonly deliveries: ReadonlyArray<Delivery>
  readonly next: Option.Option<DeliveryId>
}

/** Number of deliveries that one search looks at. */
export const searchLimit = 5000

/** Maximum number of failed deliveries that are delivered again at a time. */
export const againLimit = 500

const isWanted = ({ since, text, until }: Search, { event }: Delivery): boolean =>
  !Option.exists(text, (wanted) => wanted !== event.id && wanted !== String(event.objectId)) &&
  !Option.exists(since, DateTime.greaterThan(event.time)) &&
  !Option.exists(until, DateTime.lessThanOrEqualTo(event.time))

/** So many deliveries are looked at for the last day of an application. */
export const lastDayLimit = 5000

/** Number of deliveries that are read or cancelled at a time. */
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

  const newest = (id: ApplicationId, state: Option.Option<State>, after: Option.Option<DeliveryId>, limit: number) =>
    store.list({ applicationId: Option.some(id), state, after, limit })

  const search = Effect.fn("Deliveries.search")(function*(wanted: Search) {
    const { applicationId, limit, since, state, text, until } = wanted
    const isList = Option.isNone(text) && Option.isNone(since) && Option.isNone(until)
    const size = isList ? limit + 1 : pageSize
    const deliveries: Array<Delivery> = []
    let next = wanted.after
    for (let seen = 0; seen < searchLimit; seen += size) {
      const page = yield* newest(applicationId, state, next, size)
      for (const delivery of page) {
        if (isWanted(wanted, delivery)) deliveries.push(delivery)
        if (deliveries.length > limit) {
          const shown = deliveries.slice(0, limit)
          return { deliveries: shown, next: Option.map(Option.fromNullable(shown.at(-1)), ({ id }) => id) }
        }
      }
      if (page.length < size) return { deliveries, next: Option.none() }
      next = Option.map(Option.fromNullable(page.at(-1)), ({ id }) => id)
    }
    return { deliveries, next }
  })

  const failing = Effect.fn("Deliveries.failing")(function*(id: ApplicationId) {
    const newestIn = (state: State) =>
      Effect.map(newest(id, Option.some(state), Option.none(), 1), ([found]) => Option.fromNullable(found))
    const failed = yield* newestIn("exhausted")
    if (Option.isNone(failed)) return failed
    const delivered = yield* newestIn("delivered")
    return Option.filter(failed, (failed) => !Option.exists(delivered, ({ id }) => id > failed.id))
  })

  const redeliverFailed = Effect.fn("Deliveries.redeliverFailed")(function*(id: ApplicationId, since: DateTime.Utc) {
    const attempted = new Set<string>()
    const failed: Array<Delivery> = []
    let after = Option.none<DeliveryId>()
    let subscriptionId: Delivery["subscriptionId"] | undefined
    for (let seen = 0; seen < searchLimit; seen += pageSize) {
      const page: ReadonlyArray<Delivery> = yield* newest(id, Option.none(), after, pageSize)
      subscriptionId ??= page[0]?.subscriptionId
      for (const delivery of page) {
        const isLate = Option.exists(delivery.endedAt, DateTime.greaterThanOrEqualTo(since))
        const isFailed = delivery.state === "exhausted" && delivery.subscriptionId === subscriptionId
        if (isFailed && isLate && !attempted.has(delivery.event.id)) failed.push(delivery)
        attempted.add(delivery.event.id)
      }
      if (page.length < pageSize) break
      after = Option.map(Option.fromNullable(page.at(-1)), ({ id }) => id)
    }
    const now = yield* DateTime.now
    let count = 0
    for (const delivery of failed.reverse().slice(0, againLimit)) {
      // The subscription has ended: it was the one of all others, too.
      if (Option.isNone(yield* queue.again(delivery, now))) break
      count++
    }
    return count
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

  return Deliveries.of({
    cancelPending,
    failing,
    find,
    lastDay,
    list: store.list,
    redeliver,
    redeliverFailed,
    search,
    sendTest
  })
})

export const layer: Layer.Layer<Deliveries, never, DeliveryQueue | DeliveryStore | Secrets> = Layer
  .effect(
    Deliveries,
    make
  )
