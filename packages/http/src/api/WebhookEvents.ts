/** `/api/v1/webhook_subscription/events`: the log of an application's events (law 12). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { LogEntry } from "@startlist/core/Delivery"
import { body } from "@startlist/core/Event"
import type { OAuth } from "@startlist/core/OAuth"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { anyOrigin, type Endpoint, type Route } from "../Router.ts"
import { get, readOnce } from "../Parameters.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"

const maxLimit = 1000
const defaultLimit = 100

const invalid = (field: string, message: string) =>
  ApiResponse.error(422, message, [{ resource: "WebhookEvents", field, code: "invalid", message }])

const invalidAfter = invalid("after", "after is not a cursor of this log. Omit it to begin with the oldest event.")
const invalidLimit = invalid("limit", `limit must be an integer from 1 to ${maxLimit}`)

/** A number in decimal digits, within these limits. */
const parse = (text: string | undefined, otherwise: number, from: number, to: number): Option.Option<number> => {
  if (text === undefined) return Option.some(otherwise)
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return number >= from && number <= to ? Option.some(number) : Option.none()
}

/** `event` is the body of the request to the callback. */
const toBody = ({ delivery: { event, state, subscriptionId }, position }: LogEntry) => ({
  cursor: String(position),
  sequence: event.sequence,
  webhook_id: event.id,
  state,
  event: JSON.parse(body(event, subscriptionId))
})

export const make: Effect.Effect<Route, never, OAuth | Subscriptions> = Effect.gen(function*() {
  const subscriptions = yield* Subscriptions
  const withBearer = yield* Bearer.make

  const show: Endpoint = (request) =>
    withBearer(request, (access) =>
      Effect.gen(function*() {
        const parameters = yield* readOnce(request)
        const after = parse(get(parameters, "after"), 0, 0, Number.MAX_SAFE_INTEGER)
        const limit = parse(get(parameters, "limit"), defaultLimit, 1, maxLimit)
        if (Option.isNone(after)) return invalidAfter
        if (Option.isNone(limit)) return invalidLimit
        const entries = yield* subscriptions.events(access, { after: after.value, limit: limit.value })
        const events = entries.map(toBody)
        return ApiResponse.json(200, { events, next: events.at(-1)?.cursor ?? String(after.value) })
      }).pipe(
        Effect.catchIf(Bearer.isNotEntitled, Bearer.refuseNotEntitled),
        Effect.catchTag("UnknownPosition", () => Effect.succeed(invalidAfter))
      ))

  return anyOrigin({
    path: "/api/v1/webhook_subscription/events",
    methods: { GET: show },
    refuse: ApiResponse.refuse
  })
})
