/** `startlist delivery …`: deliveries to callbacks, and redelivery. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ApplicationId } from "@startlist/core/Application"
import { DeliveryId, State } from "@startlist/core/Delivery"
import { asking, type Common, common, date, idArgument, idOption, list, optionalId, paging } from "../Asking.ts"
import { CommandFailed, showProgress } from "./Terminal.ts"
import type { Continuation, RedeliveryRequest } from "../operator/Wire.ts"

const application = optionalId("application", "only deliveries to this client_id", ApplicationId)
const id = idArgument("id", "the id of the delivery", DeliveryId)

const listAll = Command.make(
  "list",
  {
    state: Options.choice("state", State.literals).pipe(
      Options.withDescription("only deliveries in this state"),
      Options.optional
    ),
    application,
    ...paging(DeliveryId),
    ...common
  },
  ({ after, all, application, limit, state, ...options }) =>
    asking(options, ({ deliveries }) =>
      list(
        { after, all, limit },
        DeliveryId,
        (page) => deliveries.listDeliveries({ urlParams: { ...page, state, client_id: application } }),
        (pages) => ({ deliveries: pages.flatMap(({ deliveries }) => deliveries) })
      ))
).pipe(Command.withDescription("lists deliveries, newest first"))

const show = Command.make(
  "show",
  { id, ...common },
  ({ id, ...options }) => asking(options, ({ deliveries }) => deliveries.getDelivery({ path: { id } }))
).pipe(Command.withDescription("shows one delivery with its attempts"))

/** Redelivers part by part, and shows the counts. */
const redeliverMany = (options: Common, wanted: Omit<typeof RedeliveryRequest.Type, "after">) =>
  asking(options, ({ deliveries }) =>
    Effect.gen(function*() {
      let [redelivered, skipped, after] = [0, 0, Option.none<typeof Continuation.Type>()]
      do {
        const part = yield* deliveries.redeliverMany({ payload: { ...wanted, after } })
        redelivered += part.redelivered
        skipped += part.skipped
        after = part.next
        showProgress(`redelivered ${redelivered}, skipped ${skipped}`)
      } while (Option.isSome(after))
      return { redelivered, skipped }
    }).pipe(Effect.ensuring(Effect.sync(() => showProgress("")))))

const redeliver = Command.make(
  "redeliver",
  {
    id: Args.optional(id),
    state: Options.choice("state", ["exhausted", "set_aside", "cancelled", "delivered"]).pipe(
      Options.withDescription("instead of an id: all deliveries in this state"),
      Options.optional
    ),
    application,
    since: date("since", "only deliveries that ended at or after this time, such as 2026-01-31T08:00:00Z"),
    until: date("until", "only deliveries that ended before this time"),
    all: Options.boolean("all").pipe(
      Options.withDescription("also events whose object has a newer event that is delivered or pending")
    ),
    ...common
  },
  ({ all, application, id, since, state, until, ...options }) => {
    const isOne = !all &&
      [state, application, since, until].every((one: Option.Option<unknown>) => Option.isNone(one))
    if (Option.isSome(id) && isOne) {
      return asking(options, ({ deliveries }) => deliveries.redeliver({ path: { id: id.value } }))
    }
    if (Option.isNone(id) && Option.isSome(state)) {
      return redeliverMany(options, { state: state.value, client_id: application, since, until, all })
    }
    return new CommandFailed({
      message: "give either the id of a delivery, or --state, optionally with --application, --since, --until and --all"
    })
  }
).pipe(
  Command.withDescription(
    "delivers an event again with the same webhook-id, or all events in a state"
  )
)

const cancel = Command.make(
  "cancel",
  { application: idOption("application", "the client_id", ApplicationId), ...common },
  ({ application, ...options }) =>
    asking(options, ({ deliveries }) =>
      Effect.iterate({ cancelled: 0, more: true }, {
        while: ({ more }) => more,
        body: ({ cancelled: before }) =>
          Effect.map(
            deliveries.cancelDeliveries({ payload: { client_id: application } }),
            ({ cancelled, more }) => ({ cancelled: before + cancelled, more })
          )
      }).pipe(Effect.map(({ cancelled }) => ({ cancelled }))))
).pipe(Command.withDescription("cancels all pending deliveries of an application"))

/** In the order of the help. */
export const commands = [listAll, show, redeliver, cancel] as const

/** Deliveries to callbacks. */
export const delivery = Command.make("delivery").pipe(
  Command.withDescription("deliveries of events to callbacks"),
  Command.withSubcommands(commands)
)
