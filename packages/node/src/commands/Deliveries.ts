/** `startlist delivery …`: what was sent to callbacks, and sending it once more. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { State } from "@startlist/core/Delivery"
import { asking, type Common, common, list, optionalId, paging, print, serviceOf, strange } from "../Asking.ts"
import { CommandFailed, request, type Target } from "../OperatorClient.ts"
import * as Progress from "../Progress.ts"

const application = optionalId("application", "only this client_id's")

const listAll = Command.make(
  "list",
  {
    state: Options.choice("state", State.literals).pipe(Options.optional),
    application,
    ...paging,
    ...common
  },
  ({ after, all, application, limit, state, ...options }) =>
    asking(
      options,
      (service) => list(service, "/deliveries", "deliveries", { after, all, limit }, { state, client_id: application })
    )
).pipe(Command.withDescription("lists deliveries, newest first"))

const show = Command.make(
  "show",
  { id: Args.integer({ name: "id" }), ...common },
  ({ id, ...options }) => asking(options, (service) => request(service, "GET", `/deliveries/${id}`))
).pipe(Command.withDescription("shows one delivery with its attempts"))

const Listed = Schema.Struct({
  deliveries: Schema.Array(Schema.Struct({
    id: Schema.Int,
    webhook_id: Schema.String,
    subscription_id: Schema.Int,
    attempts: Schema.Array(Schema.Struct({ at: Schema.DateTimeUtc })),
    ended_at: Schema.optional(Schema.DateTimeUtc)
  }))
})
type Listed = typeof Listed.Type["deliveries"][number]

interface Wanted {
  readonly state: string
  readonly application: Option.Option<number>
  readonly since: Option.Option<DateTime.Utc>
}

/** Those of a state, oldest first, each event once: what was exhausted again after a redelivery counts once. */
const select = (service: Target, { application, since, state }: Wanted) =>
  list(
    service,
    "/deliveries",
    "deliveries",
    { after: Option.none(), all: true, limit: Option.none() },
    { state: Option.some(state), client_id: application }
  ).pipe(
    Effect.flatMap(Schema.decodeUnknown(Listed)),
    Effect.catchTag("ParseError", () => strange(service)),
    Effect.map(({ deliveries }) => {
      const isRecent = ({ attempts, ended_at }: Listed) =>
        Option.match(since, {
          onNone: () => true,
          onSome: (from) =>
            [...attempts.map(({ at }) => at), ...(ended_at === undefined ? [] : [ended_at])]
              .some((at) => DateTime.greaterThanOrEqualTo(at, from))
        })
      const isSame = (a: Listed, b: Listed) => a.webhook_id === b.webhook_id && a.subscription_id === b.subscription_id
      return Arr.dedupeWith(deliveries.filter(isRecent), isSame).reverse()
    })
  )

/** One after the other, because events about one object go out in the order in which they are redelivered. */
const redeliverAll = (options: Common, wanted: Wanted) =>
  Effect.gen(function*() {
    const service = yield* serviceOf(options)
    const selected = yield* select(service, wanted)
    const progress = Progress.make("redelivering", selected.length)
    const redelivered: Array<unknown> = []
    const refused: Array<{ readonly id: number; readonly message: string }> = []
    for (const { id } of selected) {
      yield* Effect.match(request(service, "POST", `/deliveries/${id}/redeliver`), {
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
      message: `${refused.length} of ${selected.length} were not redelivered; ${first.id}: ${first.message}`
    })
  })

const redeliver = Command.make(
  "redeliver",
  {
    id: Args.integer({ name: "id" }).pipe(Args.optional),
    state: Options.choice("state", ["exhausted", "set_aside", "delivered"]).pipe(
      Options.withDescription("instead of an id: all that are in this state"),
      Options.optional
    ),
    application,
    since: Options.date("since").pipe(
      Options.withDescription("only those that were tried or ended since then, such as 2026-01-31T08:00:00Z"),
      Options.optional
    ),
    ...common
  },
  ({ application, id, since, state, ...options }) => {
    if (Option.isSome(id) && Option.isNone(state) && Option.isNone(application) && Option.isNone(since)) {
      return asking(options, (service) => request(service, "POST", `/deliveries/${id.value}/redeliver`))
    }
    if (Option.isNone(id) && Option.isSome(state)) {
      return redeliverAll(options, {
        state: state.value,
        application,
        since: Option.map(since, DateTime.unsafeFromDate)
      })
    }
    return new CommandFailed({
      message: "give the id of a delivery, or --state with or without --application, --since"
    })
  }
).pipe(
  Command.withDescription(
    "sends an event once more, with the same webhook-id; or all events that failed or were set aside"
  )
)

/** What was sent to callbacks. */
export const delivery = Command.make("delivery").pipe(
  Command.withDescription("what was sent to callbacks"),
  Command.withSubcommands([listAll, show, redeliver])
)
