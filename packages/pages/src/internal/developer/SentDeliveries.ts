/** Searches, charts and repeats of deliveries for the owners of applications. One of them costs more than a page. */
import * as Arr from "effect/Array"
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Application, ApplicationId } from "@startlist/core/Application"
import { Deliveries } from "@startlist/core/Deliveries"
import type { Attempt, Delivery, DeliveryId, DeliverySearch, FoundDeliveries, State } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import type { Subscription } from "@startlist/core/Subscription"
import type { UserId } from "@startlist/core/User"
import { TooMany } from "@startlist/http/Refusal"

/** What an owner looks for. */
export type Search = Omit<DeliverySearch, "applicationId" | "among">

/** The deliveries of an application, for its owner: searches, the chart of the last day, and redeliveries. */
export class SentDeliveries extends Context.Tag("@startlist/pages/SentDeliveries")<
  SentDeliveries,
  SentDeliveries.Service
>() {}

/** Why a delivery is still pending. Of several reasons, the first to end. */
export type Waiting = Data.TaggedEnum<{
  Suspended: {}
  Paused: { readonly byOperator: boolean }
  /** A delivery of an earlier event of the same object, which comes first (law 6). */
  Earlier: { readonly id: DeliveryId }
  NextAttempt: { readonly at: DateTime.Utc; readonly failed: number }
  Due: {}
}>
export const Waiting = Data.taggedEnum<Waiting>()

export declare namespace SentDeliveries {
  export interface Service {
    /** Looks for deliveries among the next `searchLimit` of an application, newest first. */
    readonly search: (
      application: Application,
      search: Search
    ) => Effect.Effect<FoundDeliveries, StoreError | TooMany>
    /** Why a delivery waits. None if it has ended. */
    readonly waiting: (
      delivery: Delivery,
      application: Application,
      subscription: Option.Option<Subscription>
    ) => Effect.Effect<Option.Option<Waiting>, StoreError | TooMany>
    /** The newest delivery that failed, if none was delivered since. */
    readonly failing: (id: ApplicationId) => Effect.Effect<Option.Option<Delivery>, StoreError>
    /**
     * Delivers events again that failed since an instant, about `againLimit` at most. Leaves out those that were delivered
     * again since, or overtaken by a newer event of their object. So it can be repeated. Returns their number.
     */
    readonly redeliverFailed: (id: ApplicationId, since: DateTime.Utc) => Effect.Effect<number, StoreError>
    /**
     * The present hour and the 23 before it, oldest first, from the newest `searchLimit` deliveries, as they were at most
     * a minute ago.
     */
    readonly lastDay: (application: Application) => Effect.Effect<ReadonlyArray<AttemptHour>, StoreError | TooMany>
  }
}

/** Maximum number of deliveries that one search or one chart examines. */
export const searchLimit = 5000

/** Number of failed deliveries that are delivered again at a time. */
const againLimit = 500

/** Searches and charts of one owner run one after the other. More than this number may not wait. */
const maxTurns = 8

/** Runs effects of one owner one after the other. Refuses those that would wait behind too many. */
const makeTurns = () => {
  const turns = new Map<UserId, { readonly semaphore: Effect.Semaphore; count: number }>()
  return <A, E, R>(owner: UserId, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooMany, R> =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        const turn = turns.get(owner) ?? { semaphore: Effect.unsafeMakeSemaphore(1), count: 0 }
        if (turn.count >= maxTurns) return TooMany.after(Duration.seconds(1))
        turn.count++
        turns.set(owner, turn)
        return Effect.succeed(turn)
      }),
      ({ semaphore }) => Effect.acquireUseRelease(semaphore.take(1), () => effect, () => semaphore.release(1)),
      (turn) => Effect.sync(() => --turn.count === 0 && turns.delete(owner))
    )
}

/** The start of the last day: the full hour 23 hours before the present hour. */
const startOfLastDay = (now: DateTime.Utc): DateTime.Utc =>
  DateTime.subtract(DateTime.startOf(now, "hour"), { hours: 23 })

/** A chart of at most this number of attempts costs little: each page makes it again. */
const fewAttempts = 100

const attemptsIn = (hours: ReadonlyArray<AttemptHour>): number =>
  hours.reduce((sum, { delivered, failed }) => sum + delivered + failed, 0)

/** Searches of one owner run one after the other. Charts of many attempts are remembered for a minute. */
export const make: Effect.Effect<SentDeliveries.Service, never, Deliveries> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const inTurn = makeTurns()

  const search = Effect.fn("SentDeliveries.search")(function*({ id, ownerId }: Application, wanted: Search) {
    const { limit, since, text, until } = wanted
    const isList = Option.isNone(text) && Option.isNone(since) && Option.isNone(until)
    const searching = deliveries.search({
      ...wanted,
      applicationId: Option.some(id),
      among: isList ? limit + 1 : searchLimit
    })
    return yield* isList ? searching : inTurn(ownerId, searching)
  })

  const waiting = Effect.fn("SentDeliveries.waiting")(function*(
    { applicationId, attempts, dueAt, event, id, state, subscriptionId }: Delivery,
    application: Application,
    subscription: Option.Option<Subscription>
  ) {
    if (state !== "pending") return Option.none()
    if (application.state === "suspended") return Option.some(Waiting.Suspended())
    if (Option.isSome(subscription) && subscription.value.paused) {
      return Option.some(Waiting.Paused({ byOperator: subscription.value.pausedByOperator }))
    }
    const { objectId, objectType } = event
    const found = yield* inTurn(
      application.ownerId,
      deliveries.search({
        applicationId: Option.some(applicationId),
        state: Option.some("pending"),
        text: Option.none(),
        objects: [{ objectId, objectType }],
        since: Option.none(),
        until: Option.none(),
        after: Option.some(id),
        limit: searchLimit,
        among: searchLimit
      })
    )
    const first = found.deliveries.findLast((one) => one.subscriptionId === subscriptionId)
    if (first !== undefined) return Option.some(Waiting.Earlier({ id: first.id }))
    return Option.some(
      attempts.length > 0 && DateTime.greaterThan(dueAt, yield* DateTime.now)
        ? Waiting.NextAttempt({ at: dueAt, failed: attempts.length })
        : Waiting.Due()
    )
  })

  const failing = Effect.fn("SentDeliveries.failing")(function*(id: ApplicationId) {
    const newestIn = (state: State) =>
      Effect.map(
        deliveries.list({ applicationId: Option.some(id), state: Option.some(state), after: Option.none(), limit: 1 }),
        ([found]) => Option.fromNullable(found)
      )
    const failed = yield* newestIn("exhausted")
    if (Option.isNone(failed)) return failed
    const delivered = yield* newestIn("delivered")
    return Option.filter(failed, (failed) => !Option.exists(delivered, ({ id }) => id > failed.id))
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

  const charts = yield* Cache.makeWith({
    capacity: 1000,
    timeToLive: (exit) =>
      Exit.isSuccess(exit) && attemptsIn(exit.value) > fewAttempts ? Duration.minutes(1) : Duration.zero,
    lookup: (id: ApplicationId) =>
      Effect.gen(function*() {
        const start = startOfLastDay(yield* DateTime.now)
        return dayOf(start, yield* deliveries.attempts(id, start, searchLimit))
      })
  })
  const lastDay = ({ id, ownerId }: Application) => inTurn(ownerId, charts.get(id))

  return { failing, lastDay, redeliverFailed, search, waiting }
})

/** Outcomes of the attempts of one hour (UTC). */
export interface AttemptHour {
  /** Its first instant. */
  readonly startsAt: DateTime.Utc
  readonly delivered: number
  readonly failed: number
  /** Duration of the successful attempts: the lower median and the slowest, in milliseconds. */
  readonly latency: Option.Option<{ readonly medianMs: number; readonly slowestMs: number }>
}

const hourMillis = 3_600_000

const countsOf = (startsAt: DateTime.Utc, attempts: ReadonlyArray<Attempt>): AttemptHour => {
  const delivered = attempts.filter(({ outcome }) => outcome === "delivered")
  const times = delivered.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const slowest = Option.fromNullable(times.at(-1))
  return {
    startsAt,
    delivered: times.length,
    failed: attempts.length - times.length,
    latency: Option.map(slowest, (slowestMs) => ({
      medianMs: times[Math.ceil(times.length / 2) - 1] ?? slowestMs,
      slowestMs
    }))
  }
}

/** The 24 hours from `start`, the first instant of an hour. An attempt belongs to the hour in which it started. */
export const dayOf = (start: DateTime.Utc, attempts: ReadonlyArray<Attempt>): ReadonlyArray<AttemptHour> => {
  const byHour = Arr.groupBy(
    attempts,
    ({ at }) => String(Math.floor((at.epochMillis - start.epochMillis) / hourMillis))
  )
  return Array.from(
    { length: 24 },
    (_, place) => countsOf(DateTime.add(start, { hours: place }), byHour[String(place)] ?? [])
  )
}
