/** Description of the requests to callbacks, for OpenAPI and AsyncAPI. */
import * as Schema from "effect/Schema"
import { ObjectId, ObjectType, Updates } from "@startlist/core/Event"
import { SubscriptionId } from "@startlist/core/Subscription"

/** The body of an event (requirements §6.2). */
export const EventBody = Schema.Struct({
  aspect_type: Schema.Literal("updated", "deleted"),
  object_type: ObjectType,
  object_id: ObjectId,
  updates: Schema.Union(Updates, Schema.Struct({}).annotations({ jsonSchema: { type: "object", maxProperties: 0 } })),
  subscription_id: SubscriptionId,
  event_time: Schema.Int
})

/** The headers of an event: those of Standard Webhooks, and its place among the events about its object. */
export const EventHeaders = Schema.Struct({
  "webhook-id": Schema.String,
  "webhook-timestamp": Schema.String,
  "webhook-signature": Schema.String,
  "startlist-sequence": Schema.String
})

/** The query of the validation request (requirements §4.7). */
export const Challenge = Schema.Struct({
  "hub.mode": Schema.Literal("subscribe"),
  "hub.challenge": Schema.String,
  "hub.verify_token": Schema.String
})

/** The response of the callback, without any other field. */
export const ChallengeAnswer = Schema.Struct({ "hub.challenge": Schema.String })
