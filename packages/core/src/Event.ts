/** Events about registrations and revoked access (requirements §6), and their audience. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApplicationId } from "./Application.ts"
import { makeWithNow } from "./internal/runtime.ts"
import { Secrets } from "./Secrets.ts"
import { maxId, Text } from "./Store.ts"
import { UserId } from "./User.ts"

/** The `webhook-id` of every attempt to deliver this event (Standard Webhooks): `evt_…`. */
export const EventId = Schema.NonEmptyString.pipe(Schema.brand("@startlist/EventId"))
export type EventId = typeof EventId.Type

/** What an event is about (requirements §6.2). */
export const ObjectType = Schema.Literal("registration", "athlete", "organizer")
export type ObjectType = typeof ObjectType.Type

/** A registration identifier or a user identifier (requirements §6.2). */
export const ObjectId = Schema.Int.pipe(Schema.between(1, maxId))

/** The six keys of `updates` (requirements §6.2). A registration event always has them all. */
export const Updates = Schema.Struct({
  platform_id: Text,
  registration_status: Text,
  document_type: Text,
  document_status: Text,
  reasons: Schema.Array(Text),
  comment: Text
})
export type Updates = typeof Updates.Type

/** The place of an event among those about its object, sent as `startlist-sequence` (law 6). It grows, with gaps. */
export const Sequence = Schema.Int.pipe(Schema.between(0, maxId))

/** A change or a revocation. One event may be delivered to several applications. */
export const Event = Schema.Struct({
  id: EventId,
  aspectType: Schema.Literal("updated", "deleted"),
  objectType: ObjectType,
  objectId: ObjectId,
  /** `{}` for a user event. */
  updates: Schema.Union(Updates, Schema.Struct({})),
  /** When the change was committed; sent as whole seconds since 1970. */
  time: Schema.DateTimeUtcFromNumber,
  sequence: Sequence,
  /** The W3C `traceparent` of the request that caused it, if it was traced. Not part of the body. */
  trace: Schema.OptionFromNullOr(Text.pipe(Schema.maxLength(55)))
})
export type Event = typeof Event.Type

/** The fields of an event that do not depend on the change. */
export type EventOrigin = Pick<Event, "id" | "time" | "trace">

/** Runs for each new event and returns its trace. Default: none. With spans: the `traceparent` of the current one. */
export class CurrentTrace extends Context.Reference<CurrentTrace>()("@startlist/core/CurrentTrace", {
  defaultValue: (): Effect.Effect<Option.Option<string>> => Effect.succeedNone
}) {}

/** Makes the effect that makes the identifier, time and trace of a new event. All services that cause events use it. */
export const makeOrigins: Effect.Effect<Effect.Effect<EventOrigin>, never, Secrets> = Effect.gen(function*() {
  const secrets = yield* Secrets
  const currentTrace = yield* CurrentTrace
  const withNow = makeWithNow()
  return withNow((time) =>
    Effect.flatMap(
      currentTrace,
      (trace) => Effect.map(secrets.make("event"), (id) => ({ id: EventId.make(Redacted.value(id)), time, trace }))
    )
  )
})

/** The applications that an event concerns. The store resolves them inside the same atomic save. */
export type Audience = Data.TaggedEnum<{
  /** One application. */
  Application: { readonly applicationId: ApplicationId }
  /** Every application with an active grant from any of these users. */
  GrantedBy: { readonly userIds: ReadonlyArray<UserId> }
}>
export const Audience = Data.taggedEnum<Audience>()

/** An event and its audience, saved together with the change that caused it: the outbox. */
export interface Outgoing {
  readonly event: Event
  readonly audience: Audience
}

/** Whole seconds since 1970 (UTC), the unit of `event_time` and `created_at`. */
export const toSeconds = (instant: DateTime.Utc): number => Math.floor(instant.epochMillis / 1000)

/** The body of requirements §6.2 as JSON text. The same event and subscription always give the same bytes. */
export const body = (event: Event, subscriptionId: number): string => {
  const start = starts.get(event) ?? startOf(event)
  return `${start}${subscriptionId},"event_time":${toSeconds(event.time)}}`
}

/** The bodies of events up to the subscription. An event may have many receivers, so each is written once. */
const starts = new WeakMap<Event, string>()

/** Key order is part of the bytes, and a database may forget it. */
const keys = ["aspect_type", "object_type", "object_id", "updates", ...Object.keys(Updates.fields), "subscription_id"]

const startOf = (event: Event): string => {
  const { aspectType: aspect_type, objectId: object_id, objectType: object_type, updates } = event
  const fields = { aspect_type, object_type, object_id, updates, subscription_id: 0 }
  const start = JSON.stringify(fields, keys).slice(0, -"0}".length)
  starts.set(event, start)
  return start
}
