/** Deliveries to callbacks, and redelivery. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Application from "@startlist/core/Application"
import { Deliveries, maxCancelled } from "@startlist/core/Deliveries"
import * as Delivery from "@startlist/core/Delivery"
import * as Event from "@startlist/core/Event"
import { PersonalData } from "@startlist/core/PersonalData"
import type * as User from "@startlist/core/User"
import { CommandFailed, showProgress } from "../commands/Terminal.ts"
import {
  ApplicationId,
  defaultLimit,
  DeliveryId,
  Flag,
  Instant,
  next,
  optional,
  paging,
  saying,
  UserId
} from "./Fields.ts"
import { command, type Group, operation } from "./Operation.ts"
import { conflict } from "./OperatorErrors.ts"

const Attempt = Schema.Struct({
  at: Schema.String,
  outcome: Delivery.Attempt.fields.outcome,
  status: Schema.optional(Schema.Int),
  duration_ms: Schema.Int,
  detail: Schema.optional(Schema.String)
})

const DeliveryRecord = Schema.Struct({
  id: Schema.Int,
  webhook_id: Schema.String,
  client_id: Schema.Int,
  subscription_id: Schema.Int,
  object_type: Event.ObjectType,
  object_id: Schema.Int,
  state: Delivery.State,
  attempts: Schema.Array(Attempt),
  next_attempt_at: Schema.optional(Schema.String),
  ended_at: Schema.optional(Schema.String),
  redelivery: Schema.optional(
    Schema.Struct({ id: Schema.Int, state: Delivery.State }).annotations({ identifier: "Redelivery" })
  )
}).annotations({ identifier: "Delivery" })

const showDelivery = (delivery: Delivery.Delivery, redelivery?: Delivery.Delivery): typeof DeliveryRecord.Type => ({
  id: delivery.id,
  webhook_id: delivery.event.id,
  client_id: delivery.applicationId,
  subscription_id: delivery.subscriptionId,
  object_type: delivery.event.objectType,
  object_id: delivery.event.objectId,
  state: delivery.state,
  attempts: delivery.attempts.map((attempt) => ({
    at: DateTime.formatIso(attempt.at),
    outcome: attempt.outcome,
    ...(Option.isSome(attempt.status) ? { status: attempt.status.value } : {}),
    duration_ms: attempt.durationMs,
    ...(attempt.detail === "" ? {} : { detail: attempt.detail })
  })),
  ...(delivery.state === "pending" ? { next_attempt_at: DateTime.formatIso(delivery.dueAt) } : {}),
  ...(Option.isSome(delivery.endedAt) ? { ended_at: DateTime.formatIso(delivery.endedAt.value) } : {}),
  ...(redelivery === undefined ? {} : { redelivery: { id: redelivery.id, state: redelivery.state } })
})

/** Deliveries, each with its repeat. */
const showAll = (found: ReadonlyArray<Delivery.Delivery>) =>
  Effect.map(
    Effect.flatMap(Deliveries, ({ repeats }) => repeats(found)),
    (repeats) => found.map((delivery) => showDelivery(delivery, repeats.get(delivery.id)))
  )

/** Cancels the pending deliveries of an application in parts: each is a transaction, and one for all takes too long. */
export const cancelInParts = (id: Application.ApplicationId) =>
  Effect.flatMap(
    Deliveries,
    ({ cancelPending }) =>
      Effect.asVoid(Effect.repeat(cancelPending(id), { while: (cancelled) => cancelled === maxCancelled }))
  )

/** Maximum number of deliveries that one search examines. It takes less than a second. */
const examined = 50_000

type EventObject = Pick<Event.Event, "objectType" | "objectId">

/** The object of an event as text: `registration:12`. */
const EventObject = saying(
  Schema.transform(
    Schema.String.pipe(Schema.pattern(/^(?:registration|athlete|organizer):[1-9]\d{0,15}$/)),
    Schema.Struct({ objectType: Event.ObjectType, objectId: Event.ObjectId }),
    {
      strict: true,
      decode: (text) => ({
        objectType: Event.ObjectType.literals.find((type) => text.startsWith(type)) ?? "registration",
        objectId: Number(text.split(":")[1])
      }),
      encode: ({ objectId, objectType }) => `${objectType}:${objectId}`
    }
  ),
  "must be an object such as registration:12, athlete:7 or organizer:7"
)

const isSame = (a: EventObject) => (b: EventObject): boolean =>
  a.objectType === b.objectType && a.objectId === b.objectId

/** The objects of events about a user: the user, and the registrations as an athlete. */
const objectsOf = (id: User.UserId) =>
  Effect.map(
    Effect.flatMap(PersonalData, (data) => data.export(id)),
    ({ registrations }): ReadonlyArray<EventObject> => [
      { objectType: "athlete", objectId: id },
      { objectType: "organizer", objectId: id },
      ...registrations.map((registration) => ({ objectType: "registration" as const, objectId: registration.id }))
    ]
  )

const listDeliveries = operation({
  request: "GET /deliveries",
  summary: "List deliveries",
  description:
    "Lists deliveries, newest first, page by page. You can filter them by application, state, object, event, user and time. A page with one of the last four filters may have fewer deliveries than `limit`, and still a `next`.",
  command: {
    name: "delivery list",
    help: "lists deliveries, newest first",
    options: {
      state: "only deliveries in this state",
      client_id: { name: "application", about: "only deliveries to this client_id" },
      object: "only events about this object, such as registration:12 or athlete:7",
      webhook_id: "only the event with this webhook-id",
      user_id: { name: "user", about: "only events about this user, or about a registration of this athlete" },
      since: { type: "date", about: "only events at or after this time, such as 2026-01-31T08:00:00Z" },
      until: { type: "date", about: "only events before this time" }
    }
  },
  input: {
    state: optional(saying(Delivery.State, "must be pending, delivered, exhausted, cancelled or set_aside")),
    client_id: optional(ApplicationId),
    object: optional(EventObject),
    webhook_id: optional(
      saying(Schema.String.pipe(Schema.pattern(/^evt_[\w-]{1,100}$/)), "must be a webhook-id, such as evt_2n5xVb")
    ),
    user_id: optional(UserId),
    since: optional(Instant),
    until: optional(Instant),
    ...paging(DeliveryId)
  },
  output: Schema.Struct({ deliveries: Schema.Array(DeliveryRecord), next: Schema.optional(Schema.Int) }),
  run: ({ after, client_id, limit = defaultLimit, object, since, state, until, user_id, webhook_id }) =>
    Effect.gen(function*() {
      const { list, search } = yield* Deliveries
      const filter = {
        applicationId: Option.fromNullable(client_id),
        state: Option.fromNullable(state),
        after: Option.fromNullable(after),
        limit
      }
      if ([object, since, until, user_id, webhook_id].every((one) => one === undefined)) {
        const page = yield* list(filter)
        return { deliveries: yield* showAll(page), ...next(page, limit) }
      }
      const ofUser = user_id === undefined ? undefined : yield* objectsOf(user_id)
      const objects = object === undefined ? ofUser : [object].filter((one) => ofUser?.some(isSame(one)) ?? true)
      const found = yield* search({
        ...filter,
        text: Option.fromNullable(webhook_id),
        since: Option.fromNullable(since),
        until: Option.fromNullable(until),
        among: examined,
        ...(objects === undefined ? {} : { objects })
      })
      return {
        deliveries: yield* showAll(found.deliveries),
        ...(Option.isSome(found.next) ? { next: found.next.value } : {})
      }
    })
})

const getDelivery = operation({
  request: "GET /deliveries/{id}",
  summary: "Show a delivery",
  description: "Shows a delivery with its attempts.",
  command: {
    name: "delivery show",
    help: "shows one delivery with its attempts",
    arguments: { id: "the id of the delivery" }
  },
  input: { id: DeliveryId },
  output: DeliveryRecord,
  refuses: [404],
  run: ({ id }) =>
    Effect.gen(function*() {
      const { find, repeats } = yield* Deliveries
      const found = yield* find(id)
      return showDelivery(found, (yield* repeats([found])).get(found.id))
    })
})

const redeliver = operation({
  request: "POST /deliveries/{id}/redeliver",
  summary: "Deliver an event again",
  description: "Makes a new delivery of the same event, with the same webhook-id, to the same subscription.",
  input: { id: DeliveryId },
  output: DeliveryRecord,
  status: 202,
  refuses: [404, 409],
  run: ({ id }) =>
    Effect.flatMap(Deliveries, (service) => service.redeliver(id)).pipe(
      Effect.map((delivery) => showDelivery(delivery)),
      Effect.catchTag("SubscriptionNotFound", () =>
        conflict(
          "Delivery",
          "subscription_id",
          "subscription_gone",
          "its subscription no longer exists, so the event cannot be delivered again"
        ))
    )
})

/** Where the next part of a redelivery begins, and its `until`. */
const Continuation = saying(
  Schema.transform(
    Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,15}-\d{1,15}$/)),
    Schema.Struct({ after: Delivery.DeliveryId, until: Schema.DateTimeUtcFromNumber }),
    {
      strict: true,
      decode: (text) => {
        const [after = 0, until = 0] = text.split("-").map(Number)
        return { after, until }
      },
      encode: ({ after, until }) => `${after}-${until}`
    }
  ),
  "must be `next` of the previous part"
)

const EndState = saying(
  Delivery.State.pipe(Schema.pickLiteral("exhausted", "set_aside", "cancelled", "delivered")),
  "must be exhausted, set_aside, cancelled or delivered"
)

const redeliverMany = operation({
  request: "POST /deliveries/redeliver",
  summary: "Deliver many events again",
  description:
    "Delivers a part of the events in a state again, oldest first. Repeat the call with `after` while there is `next`. Skips deliveries that were repeated, repeats that were delivered, and by default those whose object has a newer event that is delivered or pending. So a repeated call sends nothing twice.",
  input: {
    state: EndState,
    client_id: optional(ApplicationId),
    since: optional(Instant),
    until: optional(Instant),
    all: optional(Flag),
    after: optional(Continuation)
  },
  bodyName: "RedeliveryRequest",
  output: Schema.Struct({
    redelivered: Schema.Int,
    skipped: Schema.Int,
    next: optional(Continuation)
  }).annotations({ identifier: "RedeliveryPart" }),
  run: ({ after, all = false, client_id, since, state, until }) =>
    Effect.gen(function*() {
      const now = DateTime.add(yield* DateTime.now, { millis: 1 })
      const ending = after?.until ?? DateTime.min(now, until ?? now)
      const service = yield* Deliveries
      const { next, ...counts } = yield* service.redeliverMany({
        state: Option.some(state),
        applicationId: Option.fromNullable(client_id),
        after: Option.fromNullable(after?.after),
        since: since ?? DateTime.unsafeMake(0),
        until: ending,
        only: all ? "unrepeated" : "latest"
      })
      return { ...counts, ...(Option.isSome(next) ? { next: { after: next.value, until: ending } } : {}) }
    })
})

const redelivery = command({
  name: "delivery redeliver",
  help: "delivers an event again with the same webhook-id, or all events in a state",
  arguments: { id: "the id of the delivery" },
  options: {
    state: "instead of an id: all deliveries in this state",
    client_id: { name: "application", about: "only deliveries to this client_id" },
    since: { type: "date", about: "only deliveries that ended at or after this time, such as 2026-01-31T08:00:00Z" },
    until: { type: "date", about: "only deliveries that ended before this time" },
    all: { about: "also events whose object has a newer event that is delivered or pending", type: "switch" }
  },
  input: {
    id: optional(DeliveryId),
    state: optional(EndState),
    client_id: optional(ApplicationId),
    since: optional(Instant),
    until: optional(Instant),
    all: optional(Flag)
  },
  ask: ({ id, state, ...filter }, call) => {
    if (id !== undefined && state === undefined && Object.keys(filter).length === 0) return call(redeliver, { id })
    if (id !== undefined || state === undefined) {
      return new CommandFailed({
        message:
          "give either the id of a delivery, or --state, optionally with --application, --since, --until and --all"
      })
    }
    return Effect.gen(function*() {
      const [sum, wanted] = [{ redelivered: 0, skipped: 0 }, { state, ...filter }]
      let part = yield* call(redeliverMany, wanted)
      while (true) {
        sum.redelivered += part.redelivered
        sum.skipped += part.skipped
        showProgress(`redelivered ${sum.redelivered}, skipped ${sum.skipped}`)
        if (part.next === undefined) return sum
        part = yield* call(redeliverMany, { ...wanted, after: part.next })
      }
    }).pipe(Effect.ensuring(Effect.sync(() => showProgress(""))))
  }
})

const cancelDeliveries = operation({
  request: "POST /deliveries/cancel",
  summary: "Cancel pending deliveries",
  description:
    "Cancels the newest pending deliveries of an application, at most 5000. Repeat the call if there are `more`. The subscription stays.",
  input: { client_id: ApplicationId },
  output: Schema.Struct({ cancelled: Schema.Int, more: Schema.Boolean }),
  run: ({ client_id }) =>
    Effect.map(
      Effect.flatMap(Deliveries, ({ cancelPending }) => cancelPending(client_id)),
      (cancelled) => ({ cancelled, more: cancelled === maxCancelled })
    )
})

const cancellation = command({
  name: "delivery cancel",
  help: "cancels all pending deliveries of an application",
  options: { client_id: { name: "application", about: "the client_id" } },
  input: { client_id: ApplicationId },
  ask: (wanted, call) =>
    Effect.iterate({ cancelled: 0, more: true }, {
      while: ({ more }) => more,
      body: ({ cancelled: before }) =>
        Effect.map(call(cancelDeliveries, wanted), ({ cancelled, more }) => ({ cancelled: before + cancelled, more }))
    }).pipe(Effect.map(({ cancelled }) => ({ cancelled })))
})

const at = "2026-06-01T08:00:00.000Z"

/** Deliveries of events to callbacks. */
export const deliveries = {
  commands: { name: "delivery", help: "deliveries of events to callbacks" },
  texts: {
    "Redelivery.state": ["State of the later delivery", "delivered"],
    "RedeliveryPart.next": ["Value of `after` for the next part, if there may be one", "11822-1780300800000"],
    "RedeliveryRequest.since": ["Only deliveries that ended at or after this time", at],
    "RedeliveryRequest.until": ["Only deliveries that ended before this time", at],
    "RedeliveryRequest.after": ["`next` of the previous part", "11822-1780300800000"],
    all: ["Whether events are sent, too, whose object has a newer event that is delivered or pending", false],
    attempts: ["Delivery attempts, oldest first", undefined],
    cancelled: ["Number of cancelled deliveries", 12],
    deliveries: ["One page, newest first", undefined],
    detail: ["Details, such as the response or the error of an attempt: at most 200 characters", "{\"ok\":true}"],
    duration_ms: ["Duration of the attempt in milliseconds", 37],
    ended_at: ["Time at which the delivery ended: ISO 8601 in UTC with milliseconds", at],
    more: ["Whether there may be more pending deliveries", false],
    next: ["Value of `after` for the next page, if there may be one", 12],
    next_attempt_at: ["While pending, time of the next attempt: ISO 8601 in UTC with milliseconds", at],
    "Delivery.outcome": ["Result of the attempt", "delivered"],
    redelivered: ["Number of events that are delivered again by this part", 183],
    redelivery: ["The newest later delivery of the same event: of those delivered, if there are any", undefined],
    skipped: ["Number of deliveries of this part that are not repeated", 17],
    "Delivery.state": ["State of the delivery", "delivered"],
    object: [
      "Only events about this object: `registration`, `athlete` or `organizer`, a colon, and its id",
      "registration:12"
    ],
    "Delivery.status": ["HTTP status of the callback's response", 200]
  },
  members: { listDeliveries, getDelivery, redeliver, redelivery, redeliverMany, cancelDeliveries, cancellation }
} satisfies Group
