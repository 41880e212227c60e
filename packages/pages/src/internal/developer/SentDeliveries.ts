/** Searches and repeats of deliveries for the owners of applications. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ApplicationId } from "@startlist/core/Application"
import { Deliveries } from "@startlist/core/Deliveries"
import type { Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import { type AttemptHour, lastDayOf, startOfLastDay } from "./AttemptHours.ts"

/** A search for deliveries of an application. */
export interface Search {
  readonly applicationId: ApplicationId
  readonly state: Option.Option<State>
  /** The identifier of the object that the event is about, or the `webhook-id`. */
  readonly text: Option.Option<string>
  /** The event occurred at or after `since`, and before `until`. */
  readonly since: Option.Option<DateTime.Utc>
  readonly until: Option.Option<DateTime.Utc>
  readonly after: Option.Option<DeliveryId>
  /** Maximum number of deliveries in the answer. */
  readonly limit: number
}

export interface Found {
  readonly deliveries: ReadonlyArray<Delivery>
  /** Where to continue, if there may be more. */
  readonly next: Option.Option<DeliveryId>
}

export interface SentDeliveries {
  /** Looks for deliveries among the next `searchLimit` of an application, newest first. */
  readonly search: (search: Search) => Effect.Effect<Found, StoreError>
  /** The newest delivery that failed, if none was delivered since. */
  readonly failing: (id: ApplicationId) => Effect.Effect<Option.Option<Delivery>, StoreError>
  /**
   * Delivers events again that failed since an instant, about `againLimit` at most. Leaves out those that were delivered
   * again since, or overtaken by a newer event of their object. So it can be repeated. Returns their number.
   */
  readonly redeliverFailed: (id: ApplicationId, since: DateTime.Utc) => Effect.Effect<number, StoreError>
  /** The present hour and the 23 before it, oldest first, from the newest `searchLimit` deliveries. */
  readonly lastDay: (id: ApplicationId) => Effect.Effect<ReadonlyArray<AttemptHour>, StoreError>
}

/** Maximum number of deliveries that one search or one chart reads. */
export const searchLimit = 5000

/** Number of failed deliveries that are delivered again at a time. */
const againLimit = 500

/** Number of deliveries that are read at a time. */
const pageSize = 500

const isWanted = ({ since, text, until }: Search, { event }: Delivery): boolean =>
  !Option.exists(text, (wanted) => wanted !== event.id && wanted !== String(event.objectId)) &&
  !Option.exists(since, DateTime.greaterThan(event.time)) &&
  !Option.exists(until, DateTime.lessThanOrEqualTo(event.time))

const lastId = (page: ReadonlyArray<Delivery>): Option.Option<DeliveryId> =>
  Option.map(Option.fromNullable(page.at(-1)), ({ id }) => id)

export const make: Effect.Effect<SentDeliveries, never, Deliveries> = Effect.map(Deliveries, (deliveries) => {
  const newest = (id: ApplicationId, state: Option.Option<State>, after: Option.Option<DeliveryId>, limit: number) =>
    deliveries.list({ applicationId: Option.some(id), state, after, limit })

  const search = Effect.fn("SentDeliveries.search")(function*(wanted: Search) {
    const { applicationId, limit, since, state, text, until } = wanted
    const isList = Option.isNone(text) && Option.isNone(since) && Option.isNone(until)
    const size = isList ? limit + 1 : pageSize
    const found: Array<Delivery> = []
    let next = wanted.after
    for (let seen = 0; seen < searchLimit; seen += size) {
      const page = yield* newest(applicationId, state, next, size)
      for (const delivery of page) {
        if (isWanted(wanted, delivery)) found.push(delivery)
        if (found.length > limit) {
          const shown = found.slice(0, limit)
          return { deliveries: shown, next: lastId(shown) }
        }
      }
      if (page.length < size) return { deliveries: found, next: Option.none() }
      next = lastId(page)
    }
    return { deliveries: found, next }
  })

  const failing = Effect.fn("SentDeliveries.failing")(function*(id: ApplicationId) {
    const newestIn = (state: State) =>
      Effect.map(newest(id, Option.some(state), Option.none(), 1), ([found]) => Option.fromNullable(found))
    const failed = yield* newestIn("exhausted")
    if (Option.isNone(failed)) return failed
    const delivered = yield* newestIn("delivered")
    return Option.filter(failed, (failed) => !Option.exists(delivered, ({ id }) => id > failed.id))
  })

  /** Reads the newest deliveries, at most `searchLimit`, until `isEnough`. */
  const readNewest = Effect.fnUntraced(function*(
    id: ApplicationId,
    isEnough: (page: ReadonlyArray<Delivery>) => boolean
  ) {
    const read: Array<Delivery> = []
    while (read.length < searchLimit) {
      const page = yield* newest(id, Option.none(), lastId(read), pageSize)
      read.push(...page)
      if (page.length < pageSize || isEnough(page)) break
    }
    return read
  })

  const redeliverFailed = Effect.fn("SentDeliveries.redeliverFailed")(function*(
    id: ApplicationId,
    since: DateTime.Utc
  ) {
    const state = Option.some<State>("exhausted")
    const until = DateTime.add(yield* DateTime.now, { millis: 1 })
    let [count, after] = [0, Option.none<DeliveryId>()]
    do {
      const wanted = { applicationId: Option.some(id), state, since, until, after, only: "latest" } as const
      const { next, redelivered } = yield* deliveries.redeliverMany(wanted)
      count += redelivered
      after = next
    } while (Option.isSome(after) && count < againLimit)
    return count
  })

  const lastDay = Effect.fn("SentDeliveries.lastDay")(function*(id: ApplicationId) {
    const now = yield* DateTime.now
    const start = startOfLastDay(now)
    const isOver = ({ endedAt }: Delivery) => Option.exists(endedAt, ({ epochMillis }) => epochMillis < start)
    const read = yield* readNewest(id, (page) => page.every(isOver))
    return lastDayOf(read.flatMap(({ attempts }) => attempts), now)
  })

  return { failing, lastDay, redeliverFailed, search }
})
