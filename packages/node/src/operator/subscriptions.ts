/** The webhook subscription of each application. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Application from "@startlist/core/Application"
import type { StoreError } from "@startlist/core/Store"
import type { Subscription, SubscriptionNotFound } from "@startlist/core/Subscription"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { cancelInParts } from "./deliveries.ts"
import { ApplicationId, defaultLimit, next, optional, paging, SubscriptionId } from "./Input.ts"
import { type Group, operation } from "./Operation.ts"
import { notFound } from "./OperatorErrors.ts"

const SubscriptionRecord = Schema.Struct({
  id: Schema.Int,
  client_id: Schema.Int,
  callback_url: Schema.String,
  paused: Schema.Boolean,
  paused_by_operator: Schema.Boolean,
  created_at: Schema.String,
  updated_at: Schema.String
}).annotations({ identifier: "ApplicationSubscription" })

const showSubscription = (subscription: Subscription): typeof SubscriptionRecord.Type => ({
  id: subscription.id,
  client_id: subscription.applicationId,
  callback_url: subscription.callbackUrl,
  paused: subscription.paused,
  paused_by_operator: subscription.pausedByOperator,
  created_at: DateTime.formatIso(subscription.createdAt),
  updated_at: DateTime.formatIso(subscription.updatedAt)
})

/** Changes the subscription of an application, if it has one. */
const changing = <A>(
  id: Application.ApplicationId,
  change: (service: Subscriptions.Service) => Effect.Effect<A, SubscriptionNotFound | StoreError>
) =>
  Effect.flatMap(Subscriptions, (service) => change(service)).pipe(
    Effect.catchTag("@startlist/core/SubscriptionNotFound", () =>
      notFound("Subscription", "client_id", `application ${id} has no subscription`))
  )

const client_id = "the application's client_id"

const listSubscriptions = operation({
  request: "GET /subscriptions",
  summary: "List subscriptions",
  description: "Lists the webhook subscriptions of all applications, newest first, page by page, or that of one.",
  command: {
    name: "subscription list",
    help: "lists subscriptions, newest first",
    options: { client_id: { name: "application", about: "only the subscription of this client_id" } }
  },
  input: { client_id: optional(ApplicationId), ...paging(SubscriptionId) },
  output: Schema.Struct({
    subscriptions: Schema.Array(SubscriptionRecord),
    next: Schema.optional(Schema.Int)
  }),
  run: ({ after, client_id, limit = defaultLimit }) =>
    Effect.flatMap(Subscriptions, ({ findByApplication, list }) =>
      client_id === undefined
        ? Effect.map(
          list({ after: Option.fromNullable(after), limit }),
          (page) => ({ subscriptions: page.map(showSubscription), ...next(page, limit) })
        )
        : Effect.map(
          findByApplication(client_id),
          (found) => ({ subscriptions: Option.toArray(Option.map(found, showSubscription)) })
        ))
})

const pauseSubscription = operation({
  request: "POST /applications/{client_id}/subscription/pause",
  summary: "Pause a subscription",
  description:
    "Starts no further delivery attempts. Events wait, in order, until an operator resumes the subscription. Its owner cannot resume it.",
  command: {
    name: "subscription pause",
    help: "pauses a subscription: its events wait in order",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: SubscriptionRecord,
  refuses: [404],
  run: ({ client_id }) => Effect.map(changing(client_id, ({ pause }) => pause(client_id, "operator")), showSubscription)
})

const resumeSubscription = operation({
  request: "POST /applications/{client_id}/subscription/resume",
  summary: "Resume a subscription",
  description: "Delivers the events that waited, in order, and continues with new ones.",
  command: {
    name: "subscription resume",
    help: "resumes a subscription and delivers its waiting events",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: SubscriptionRecord,
  refuses: [404],
  run: ({ client_id }) =>
    Effect.map(
      changing(
        client_id,
        ({ resume }) => Effect.catchTag(resume(client_id, "operator"), "@startlist/core/PausedByOperator", Effect.die)
      ),
      showSubscription
    )
})

const endSubscription = operation({
  request: "DELETE /applications/{client_id}/subscription",
  summary: "End a subscription",
  description: "Ends the subscription of an application and cancels its pending deliveries.",
  command: {
    name: "subscription end",
    help: "ends a subscription and cancels its pending deliveries",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: Schema.Void,
  status: 204,
  refuses: [404],
  before: ({ client_id }) => cancelInParts(client_id),
  run: ({ client_id }) => changing(client_id, ({ end }) => end(client_id, Option.none()))
})

/** Webhook subscriptions. */
export const subscriptions = {
  commands: { name: "subscription", help: "webhook subscriptions of applications" },
  texts: {
    paused: ["Whether the subscription is paused: its events wait", false],
    paused_by_operator: ["Whether an operator has paused the subscription, so that its owner cannot resume it", false],
    subscriptions: ["One page, newest first", undefined]
  },
  members: { listSubscriptions, pauseSubscription, resumeSubscription, endSubscription }
} satisfies Group
