/** Deliveries to callbacks, and redelivery. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Application from "@startlist/core/Application"
import { Deliveries, maxCancelled } from "@startlist/core/Deliveries"
import * as Delivery from "@startlist/core/Delivery"
import * as Event from "@startlist/core/Event"
import { PersonalData } from "@startlist/core/PersonalData"
import type * as User from "@startlist/core/User"
import { ApplicationId, defaultLimit, DeliveryId, Instant, next, optional, paging, saying, UserId } from "./Input.ts"
import { command, type Group, operation } from "./Operation.ts"
import { DeliveryRecord, redeliveries, redeliveryTexts, showDelivery } from "./redeliveries.ts"

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

const id = "the id of the delivery"

const getDelivery = operation({
  request: "GET /deliveries/{id}",
  summary: "Show a delivery",
  description: "Shows a delivery with its attempts.",
  command: { name: "delivery show", help: "shows one delivery with its attempts", arguments: { id } },
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
    ...redeliveryTexts,
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
    "Delivery.state": ["State of the delivery", "delivered"],
    object: [
      "Only events about this object: `registration`, `athlete` or `organizer`, a colon, and its id",
      "registration:12"
    ],
    "Delivery.status": ["HTTP status of the callback's response", 200]
  },
  members: { listDeliveries, getDelivery, ...redeliveries, cancelDeliveries, cancellation }
} satisfies Group
