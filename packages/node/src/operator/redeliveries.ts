/** Redelivery of one event, or of many. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Deliveries } from "@startlist/core/Deliveries"
import * as Delivery from "@startlist/core/Delivery"
import * as Event from "@startlist/core/Event"
import type { FieldTexts } from "@startlist/http/description/ProtocolTexts"
import { CommandFailed, showProgress } from "../commands/Terminal.ts"
import { ApplicationId, DeliveryId, Flag, Instant, optional, saying } from "./Input.ts"
import { command, operation } from "./Operation.ts"
import { conflict } from "./OperatorErrors.ts"

const Attempt = Schema.Struct({
  at: Schema.String,
  outcome: Delivery.Attempt.fields.outcome,
  status: Schema.optional(Schema.Int),
  duration_ms: Schema.Int,
  detail: Schema.optional(Schema.String)
})

/** A delivery with its attempts. */
export const DeliveryRecord = Schema.Struct({
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

/** A delivery as it is shown, with its repeat. */
export const showDelivery = (
  delivery: Delivery.Delivery,
  redelivery?: Delivery.Delivery
): typeof DeliveryRecord.Type => ({
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
      Effect.catchTag("@startlist/core/SubscriptionNotFound", () =>
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

/** The operations and commands of redelivery, in the order of the help. */
export const redeliveries = { redeliver, redelivery, redeliverMany }

const at = "2026-06-01T08:00:00.000Z"

/** Texts and examples of their fields. */
export const redeliveryTexts = {
  "Redelivery.state": ["State of the later delivery", "delivered"],
  "RedeliveryPart.next": ["Value of `after` for the next part, if there may be one", "11822-1780300800000"],
  "RedeliveryRequest.since": ["Only deliveries that ended at or after this time", at],
  "RedeliveryRequest.until": ["Only deliveries that ended before this time", at],
  "RedeliveryRequest.after": ["`next` of the previous part", "11822-1780300800000"],
  all: ["Whether events are sent, too, whose object has a newer event that is delivered or pending", false],
  redelivered: ["Number of events that are delivered again by this part", 183],
  skipped: ["Number of deliveries of this part that are not repeated", 17],
  redelivery: ["The newest later delivery of the same event: of those delivered, if there are any", undefined]
} satisfies FieldTexts
