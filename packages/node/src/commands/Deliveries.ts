/** `startlist delivery …`: deliveries to callbacks, and redelivery. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationId } from "@startlist/core/Application"
import { DeliveryId, State } from "@startlist/core/Delivery"
import {
  asking,
  type Common,
  common,
  date,
  everyPage,
  explain,
  idArgument,
  idOption,
  list,
  optionalId,
  paging,
  print,
  serviceOf
} from "../Asking.ts"
import type { Client } from "../OperatorClient.ts"
import { CommandFailed } from "../CommandFailed.ts"
import type { DeliveryRecord } from "../operator/Wire.ts"
import * as Progress from "../Progress.ts"

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

interface Wanted {
  readonly state: State
  readonly application: Option.Option<ApplicationId>
  readonly since: Option.Option<DateTime.Utc>
  readonly until: Option.Option<DateTime.Utc>
}

/** Deliveries in a state, by event, oldest first. An event that failed again after a redelivery appears once. */
const select = ({ deliveries }: Client, { application, since, state, until }: Wanted) =>
  everyPage(
    DeliveryId,
    (page) => deliveries.listDeliveries({ urlParams: { ...page, state: Option.some(state), client_id: application } })
  ).pipe(
    Effect.map((pages) => pages.flatMap(({ deliveries }) => deliveries)),
    Effect.map((found) => {
      const isWanted = ({ attempts, ended_at }: typeof DeliveryRecord.Type) =>
        (Option.isNone(since) && Option.isNone(until)) ||
        [...attempts.map(({ at }) => at), ...(ended_at === undefined ? [] : [ended_at])]
          .map((at) => DateTime.unsafeMake(at))
          .some((at) =>
            Option.match(since, { onNone: () => true, onSome: DateTime.lessThanOrEqualTo(at) }) &&
            Option.match(until, { onNone: () => true, onSome: DateTime.greaterThan(at) })
          )
      // A map keeps the place of the first insertion: events stay in their order, also after a redelivery.
      const newest = new Map<string, typeof DeliveryRecord.Type | undefined>()
      for (const one of found.reverse()) {
        const event = `${one.webhook_id} ${one.subscription_id}`
        newest.set(event, isWanted(one) ? one : newest.get(event))
      }
      return [...newest.values()].filter((one) => one !== undefined)
    }),
    Effect.mapError(explain)
  )

const redeliverOne = ({ deliveries }: Client, id: number) =>
  Effect.flatMap(Schema.decode(DeliveryId)(id), (id) => deliveries.redeliver({ path: { id } }))

/** Redelivers one after the other, which is the order in which events about one object are delivered. */
const redeliverAll = (options: Common, wanted: Wanted) =>
  Effect.gen(function*() {
    const service = yield* serviceOf(options)
    const selected = yield* select(service, wanted)
    const progress = Progress.make("redelivering", selected.length)
    const redelivered: Array<unknown> = []
    const refused: Array<{ readonly id: number; readonly message: string }> = []
    for (const { id } of selected) {
      yield* Effect.match(redeliverOne(service, id), {
        onSuccess: (delivery) => redelivered.push(delivery),
        onFailure: ({ message }) => refused.push({ id, message })
      })
      progress.step()
    }
    progress.end()
    yield* print(
      options,
      options.json ? { redelivered, refused } : { redelivered: redelivered.length, refused: refused.length }
    )
    const [first] = refused
    if (first === undefined) return
    yield* new CommandFailed({
      message: `${refused.length} of ${selected.length} deliveries were not redelivered. ${first.id}: ${first.message}`
    })
  })

const redeliver = Command.make(
  "redeliver",
  {
    id: Args.optional(id),
    state: Options.choice("state", ["exhausted", "set_aside", "delivered"]).pipe(
      Options.withDescription("instead of an id: all deliveries in this state"),
      Options.optional
    ),
    application,
    since: date("since", "only deliveries attempted or ended at or after this time, such as 2026-01-31T08:00:00Z"),
    until: date("until", "only deliveries attempted or ended before this time"),
    ...common
  },
  ({ application, id, since, state, until, ...options }) => {
    const isOne = [state, application, since, until].every((one: Option.Option<unknown>) => Option.isNone(one))
    if (Option.isSome(id) && isOne) {
      return asking(options, (service) => redeliverOne(service, id.value))
    }
    if (Option.isNone(id) && Option.isSome(state)) {
      return redeliverAll(options, {
        state: state.value,
        application,
        since,
        until
      })
    }
    return new CommandFailed({
      message: "give either the id of a delivery, or --state, optionally with --application, --since and --until"
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
