/** The delivery of one event to one subscription: its attempts and its state. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationId } from "./Application.ts"
import { type Answer, outcomes } from "./Callbacks.ts"
import { Event } from "./Event.ts"
import type { Policy } from "./Policy.ts"
import { maxId, type StoreError } from "./Store.ts"
import { SubscriptionId } from "./Subscription.ts"

/** Identifier of a delivery. It grows: later deliveries have larger ones. */
export const DeliveryId = Schema.Int.pipe(Schema.between(1, maxId), Schema.brand("@startlist/DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** `exhausted` by the last failure, `cancelled` with its subscription, `set_aside` by claims without an outcome. */
export const State = Schema.Literal("pending", "delivered", "exhausted", "cancelled", "set_aside")
export type State = typeof State.Type

/** One finished attempt. */
export const Attempt = Schema.Struct({
  /** When it started. */
  at: Schema.DateTimeUtcFromNumber,
  durationMs: Schema.NonNegativeInt,
  outcome: Schema.Literal("delivered", "rejected", "timeout", "unreachable", "forbidden_address"),
  status: Schema.OptionFromNullOr(Schema.Int),
  /** An excerpt of the answer, or the error. At most 200 characters. */
  detail: Schema.String
})
export type Attempt = typeof Attempt.Type

/** An event for one subscription, with its attempts. */
export const Delivery = Schema.Struct({
  id: DeliveryId,
  applicationId: ApplicationId,
  subscriptionId: SubscriptionId,
  event: Event,
  state: State,
  attempts: Schema.Array(Attempt),
  /** When the next attempt is due, while pending. */
  dueAt: Schema.DateTimeUtcFromNumber,
  /** When it ended. */
  endedAt: Schema.OptionFromNullOr(Schema.DateTimeUtcFromNumber)
})
export type Delivery = typeof Delivery.Type

/** No delivery has this identifier, or it was removed. */
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("@startlist/core/DeliveryNotFound", {
  deliveryId: DeliveryId
}) {}

/** Selects deliveries. */
export interface DeliveryFilter {
  readonly applicationId: Option.Option<ApplicationId>
  readonly state: Option.Option<State>
  /** Start after this delivery, in the order of the list. */
  readonly after: Option.Option<DeliveryId>
  readonly limit: number
  /** Default: newest first. */
  readonly order?: "oldest first"
}

/** A search for deliveries, newest first. */
export interface DeliverySearch extends Omit<DeliveryFilter, "order"> {
  /** The identifier of the object that the event is about, or the `webhook-id`. */
  readonly text: Option.Option<string>
  /** The objects that the event may be about. Default: any. */
  readonly objects?: ReadonlyArray<Pick<Event, "objectType" | "objectId">>
  /** The event occurred at or after `since`, and before `until`. */
  readonly since: Option.Option<DateTime.Utc>
  readonly until: Option.Option<DateTime.Utc>
  /** Number of deliveries in this state that are examined at most. */
  readonly among: number
}

/** The answer to a search. `next` is where to continue, if there may be more. */
export interface FoundDeliveries {
  readonly deliveries: ReadonlyArray<Delivery>
  readonly next: Option.Option<DeliveryId>
}

/** An event in the log of an application: its first delivery, as it is now. */
export interface LogEntry {
  /** Position in the log. Events that are committed later have larger positions. A positive integer below 2^53. */
  readonly position: number
  readonly delivery: Delivery
}

/** A request of a reader of the log. */
export interface LogRequest {
  readonly applicationId: ApplicationId
  /** Continue after this position. 0 is the beginning. */
  readonly after: number
  readonly limit: number
}

/** The log has not reached this position: it belongs to another log, or the database is an older copy. */
export class UnknownPosition extends Schema.TaggedError<UnknownPosition>()("@startlist/core/UnknownPosition", {}) {}

/** Store of deliveries and their attempts. `DeliveryQueue` is for workers. Every method is atomic. */
export class DeliveryStore extends Context.Tag("@startlist/core/DeliveryStore")<
  DeliveryStore,
  DeliveryStore.Service
>() {}

export declare namespace DeliveryStore {
  export interface Service {
    /** The delivery with this identifier. */
    readonly find: (id: DeliveryId) => Effect.Effect<Option.Option<Delivery>, StoreError>
    /** The deliveries that match, at most `limit`, in the order of the filter. */
    readonly list: (filter: DeliveryFilter) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
    /** Costs no more than its answer for each delivery that it examines: see `searchIn`. */
    readonly search: (search: DeliverySearch) => Effect.Effect<FoundDeliveries, StoreError>
    /** The attempts that started since an instant, of the newest `among` deliveries of an application, in any order. */
    readonly attempts: (
      id: ApplicationId,
      since: DateTime.Utc,
      among: number
    ) => Effect.Effect<ReadonlyArray<Attempt>, StoreError>
    /** The events of an application, oldest first: each exactly once for a reader that continues, in order (law 12). */
    readonly log: (request: LogRequest) => Effect.Effect<ReadonlyArray<LogEntry>, UnknownPosition | StoreError>
    /** The newest later delivery of the same event to the same subscription: of those delivered, if there are any. */
    readonly repeats: (of: ReadonlyArray<Delivery>) => Effect.Effect<ReadonlyMap<DeliveryId, Delivery>, StoreError>
    /** Removes at most `limit` deliveries that ended by `endedBefore`. Returns their number. */
    readonly purge: (endedBefore: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}

/** A short, printable excerpt of a receiver's text: no control characters, no halves of surrogate pairs. */
const excerpt = (text: string): string => text.slice(0, 200).replace(/[\p{Cc}\p{Cs}]/gu, " ").trim()

/** The outcome of an attempt. Delivered: exactly 200, with complete headers, within the time (requirements §6.3). */
const toAttempt = (answer: Answer, at: DateTime.Utc, ended: DateTime.Utc, policy: Policy.Service): Attempt => {
  const durationMs = Math.max(0, ended.epochMillis - at.epochMillis)
  if (answer._tag !== "Answered") {
    return { at, durationMs, outcome: outcomes[answer._tag], status: Option.none(), detail: excerpt(answer.detail) }
  }
  const late = answer.afterMs > Duration.toMillis(policy.callbackTimeout)
  const outcome = late ? "timeout" : answer.status === 200 ? "delivered" : "rejected"
  return { at, durationMs, outcome, status: Option.some(answer.status), detail: excerpt(answer.body) }
}

/** The pause before the next attempt, spread by `random` in [0, 1). `Retry-After` is limited to [base, 2 × base]. */
const pause = (base: Duration.Duration, answer: Answer, random: number, policy: Policy.Service): Duration.Duration => {
  const asked = answer._tag === "Answered" ? answer.retryAfter : Option.none()
  return Option.match(asked, {
    onNone: () => Duration.millis(Math.round(Duration.toMillis(base) * (1 + policy.deliveryJitter * (2 * random - 1)))),
    onSome: Duration.clamp({ minimum: base, maximum: Duration.times(base, 2) })
  })
}

/** The longest pause before an attempt: that of `Retry-After`, or of the jitter. */
export const longestPause = ({ deliveryDelays, deliveryJitter }: Policy.Service): Duration.Duration =>
  Duration.times(deliveryDelays.reduce(Duration.max, Duration.zero), Math.max(2, 1 + deliveryJitter))

/** The delivery after an attempt: delivered, due again, or exhausted. */
export const next = (
  delivery: Delivery,
  answer: Answer,
  attempted: { readonly at: DateTime.Utc; readonly ended: DateTime.Utc; readonly random: number },
  policy: Policy.Service
): Delivery => {
  const { at, ended, random } = attempted
  const attempt = toAttempt(answer, at, ended, policy)
  const attempts = [...delivery.attempts, attempt]
  const end = (state: State): Delivery => ({ ...delivery, attempts, state, endedAt: Option.some(ended) })
  if (attempt.outcome === "delivered") return end("delivered")
  const base = policy.deliveryDelays[attempts.length - 1]
  if (base === undefined) return end("exhausted")
  const dueAt = DateTime.addDuration(ended, pause(base, answer, random, policy))
  return { ...delivery, attempts, dueAt }
}

/** Ends a delivery whose claims give no outcome: it may be why workers end. Then the next of its object is due. */
export const setAside = (delivery: Delivery, now: DateTime.Utc): Delivery => ({
  ...delivery,
  state: "set_aside",
  endedAt: Option.some(now)
})

/** Searches in the newest deliveries of the application that are in the state, `among` of them, newest first. */
export const searchIn = (
  { among, limit, objects, since, text, until }: DeliverySearch,
  newest: ReadonlyArray<Delivery>
): FoundDeliveries => {
  const found = newest.filter(({ event }) =>
    Option.match(text, { onNone: () => true, onSome: (one) => one === event.id || one === String(event.objectId) }) &&
    (objects?.some(({ objectId, objectType }) => objectId === event.objectId && objectType === event.objectType) ??
      true) &&
    !Option.exists(since, DateTime.greaterThan(event.time)) &&
    !Option.exists(until, DateTime.lessThanOrEqualTo(event.time))
  )
  const last = found.length > limit ? found[limit - 1] : newest.length < among ? undefined : newest.at(-1)
  return { deliveries: found.slice(0, limit), next: Option.map(Option.fromNullable(last), ({ id }) => id) }
}
