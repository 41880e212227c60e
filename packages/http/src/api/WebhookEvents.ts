/** `/api/v1/webhook_subscription/events`: the log of an application's events (law 12). */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import type { LogEntry } from "@startlist/core/Delivery"
import { body } from "@startlist/core/Event"
import type { ApplicationId } from "@startlist/core/Application"
import type { OAuth } from "@startlist/core/OAuth"
import { Secrets, type TokenKey } from "@startlist/core/Secrets"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { FailureLimit } from "../FailureLimit.ts"
import { anyOrigin, type Endpoint, type Route } from "../Router.ts"
import type { HttpConfig, Resource } from "../HttpConfig.ts"
import { get, readOnce } from "../Parameters.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"
import * as WebhookSubscription from "./WebhookSubscription.ts"

const maxLimit = 1000
const defaultLimit = 100

const invalid = (field: string, message: string) =>
  ApiResponse.error(422, message, [{ resource: "WebhookEvents", field, code: "invalid", message }])

const invalidAfter = invalid("after", "after is not a cursor of this log. Omit it to begin with the oldest event.")
const invalidLimit = invalid("limit", `limit must be an integer from 1 to ${maxLimit}`)

const parseLimit = (text: string | undefined): Option.Option<number> => {
  if (text === undefined) return Option.some(defaultLimit)
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= maxLimit ? Option.some(limit) : Option.none()
}

/** `event` is the body of the request to the callback. */
const toBody = ({ delivery: { event, state, subscriptionId } }: LogEntry, cursor: string) => ({
  cursor,
  sequence: event.sequence,
  webhook_id: event.id,
  state,
  event: JSON.parse(body(event, subscriptionId))
})

/** The log as a protected resource. */
export const resource: Effect.Effect<Resource, never, HttpConfig> = Effect.map(
  WebhookSubscription.resource,
  (subscription) => ({ ...subscription, url: `${subscription.url}/events` })
)

/** The route of the event log. */
export const make: Effect.Effect<Route, never, HttpConfig | OAuth | Secrets | Subscriptions | FailureLimit> = Effect
  .gen(
    function*() {
      const subscriptions = yield* Subscriptions
      const secrets = yield* Secrets
      const withBearer = yield* Bearer.make
      const log = yield* resource

      /** The position of a cursor. Without one, the beginning. */
      const positionOf = (applicationId: ApplicationId, cursor: string | undefined): number | undefined =>
        cursor === undefined ? 0 : openCursor(secrets, applicationId, cursor)

      const show: Endpoint = (request) =>
        withBearer(request, log, (access) =>
          Effect.gen(function*() {
            const parameters = yield* readOnce(request)
            const { applicationId } = access
            const after = positionOf(applicationId, get(parameters, "after"))
            const limit = parseLimit(get(parameters, "limit"))
            if (after === undefined) return invalidAfter
            if (Option.isNone(limit)) return invalidLimit
            const entries = yield* subscriptions.events(access, { after, limit: limit.value })
            const cursorOf = (position: number) => sealCursor(secrets, applicationId, position)
            const events = entries.map((entry) => toBody(entry, cursorOf(entry.position)))
            return ApiResponse.json(200, { events, next: events.at(-1)?.cursor ?? cursorOf(after) })
          }).pipe(
            Effect.catchIf(Bearer.isNotEntitled, Bearer.refuseNotEntitled(log)),
            Effect.catchTag("@startlist/core/UnknownPosition", () => Effect.succeed(invalidAfter))
          ))

      return anyOrigin({
        path: "/api/v1/webhook_subscription/events",
        methods: { GET: show },
        refuse: ApiResponse.refuse
      })
    }
  )

/** 128 bits in base64url, followed by the 64 bits of the encrypted position. */
const tagLength = 22
const pattern = /^[\w-]{33}$/

const tagOf = (key: TokenKey, applicationId: ApplicationId, position: number): string =>
  key.mac(`event cursor\n${applicationId}\n${position}`).slice(0, tagLength)

/** Encrypts or decrypts 64 bits with a pad that depends on the tag. */
const withPad = (key: TokenKey, applicationId: ApplicationId, tag: string, bits: Uint8Array): Uint8Array => {
  const pad = Either.getOrThrow(Encoding.decodeBase64Url(key.mac(`event cursor pad\n${applicationId}\n${tag}`)))
  return bits.map((byte, place) => byte ^ (pad[place] ?? 0))
}

/**
 * The cursor of a position. A position counts the events of all applications, so an application gets it encrypted, and
 * can use only its own. The same one always gives the same cursor, by a synthetic initialization vector (RFC 5297 §1).
 */
const sealCursor = (
  { keys: [key] }: Pick<Secrets.Service, "keys">,
  applicationId: ApplicationId,
  position: number
): string => {
  const bits = new Uint8Array(8)
  new DataView(bits.buffer).setBigUint64(0, BigInt(position))
  const tag = tagOf(key, applicationId, position)
  return tag + Encoding.encodeBase64Url(withPad(key, applicationId, tag, bits))
}

/** The position of a cursor that one of the keys has made for this application. */
const openCursor = (
  { keys }: Pick<Secrets.Service, "keys">,
  applicationId: ApplicationId,
  cursor: string
): number | undefined => {
  if (!pattern.test(cursor)) return undefined
  const tag = cursor.slice(0, tagLength)
  const sealed = Encoding.decodeBase64Url(cursor.slice(tagLength))
  if (Either.isLeft(sealed)) return undefined
  return keys
    .map((key): readonly [TokenKey, number] => {
      const bits = withPad(key, applicationId, tag, sealed.right)
      return [key, Number(new DataView(bits.buffer).getBigUint64(0))]
    })
    .find(([key, position]) => Number.isSafeInteger(position) && tagOf(key, applicationId, position) === tag)?.[1]
}
