/** `startlist subscription …`: webhook subscriptions. */
import * as Command from "@effect/cli/Command"
import { ApplicationId } from "@startlist/core/Application"
import { SubscriptionId } from "@startlist/core/Subscription"
import { asking, common, idArgument, list, paging } from "../Asking.ts"

const id = idArgument("client_id", "the application's client_id", ApplicationId)

const listAll = Command.make(
  "list",
  { ...paging(SubscriptionId), ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, ({ subscriptions }) =>
      list(
        { after, all, limit },
        SubscriptionId,
        (urlParams) => subscriptions.listSubscriptions({ urlParams }),
        (pages) => ({ subscriptions: pages.flatMap(({ subscriptions }) => subscriptions) })
      ))
).pipe(Command.withDescription("lists subscriptions, newest first"))

const pause = Command.make(
  "pause",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ subscriptions }) => subscriptions.pauseSubscription({ path: { client_id: id } }))
).pipe(Command.withDescription("pauses a subscription: its events wait in order"))

const resume = Command.make(
  "resume",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ subscriptions }) => subscriptions.resumeSubscription({ path: { client_id: id } }))
).pipe(Command.withDescription("resumes a subscription and delivers its waiting events"))

const end = Command.make(
  "end",
  { id, ...common },
  ({ id, ...options }) =>
    asking(options, ({ subscriptions }) => subscriptions.endSubscription({ path: { client_id: id } }))
).pipe(Command.withDescription("ends a subscription and cancels its pending deliveries"))

/** In the order of the help. */
export const commands = [listAll, pause, resume, end] as const

/** The webhook subscriptions of applications. */
export const subscription = Command.make("subscription").pipe(
  Command.withDescription("webhook subscriptions of applications"),
  Command.withSubcommands(commands)
)
