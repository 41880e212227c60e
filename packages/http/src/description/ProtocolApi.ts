/**
 * Description of the documented API and of the requests to callbacks, for `openapi.json`, its page, AsyncAPI, and typed
 * clients. It is not used for serving: the endpoints decode requests more precisely than schemas can.
 */
import * as Schema from "effect/Schema"
import { ObjectId, ObjectType, Sequence, Updates } from "@startlist/core/Event"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"

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

/** A problem with a request. `code` is stable, `message` is for people. */
export const Problem = Schema.Struct({
  resource: Schema.String,
  field: Schema.String,
  code: Schema.String,
  message: Schema.String
}).annotations({ identifier: "Problem" })
/** A problem with a request, as JSON. */
export type Problem = typeof Problem.Type

/** An error with `errors`, and with the fields of RFC 6750 for libraries that read only these. */
export const ErrorBody = Schema.Struct({
  message: Schema.String,
  errors: Schema.Array(Problem),
  error: Schema.Literal("invalid_request", "invalid_token", "insufficient_scope", "temporarily_unavailable"),
  error_description: Schema.String
})

const under = <A, I>(status: number, description: string, schema: Schema.Schema<A, I>, identifier?: string) =>
  schema.annotations(
    HttpApiSchema.annotations({ status, description, ...(identifier === undefined ? {} : { identifier }) })
  )

const optional = Schema.optional(Schema.String)

/** RFC 6749 §5.2. */
const oauthError = (status: number, description: string) =>
  under(status, description, Schema.Struct({ error: Schema.String, error_description: optional }), "OAuthError")

const apiError = (status: number, description: string) => under(status, description, ErrorBody, "ApiError")

const tooMany = oauthError(
  429,
  "Too many failures, or the application has reached its limit of requests; try again after Retry-After"
)
const oauthUnavailable = oauthError(503, "The database is unavailable; try again after Retry-After")
const oauthTooLarge = oauthError(413, "The body is larger than 64 KiB")
const oauthMediaType = oauthError(415, "The body is not a form, or is encoded")

/** An identifier as a parameter: a text that is a positive integer. */
const Identifier = Schema.String.annotations({ jsonSchema: { type: "integer", minimum: 1 } })

const Limit = Schema.String.annotations({ jsonSchema: { type: "integer", minimum: 1, maximum: 1000 } })

const AuthorizeParameters = Schema.Struct({
  client_id: Identifier,
  redirect_uri: Schema.String,
  response_type: Schema.Literal("code"),
  response_mode: Schema.optional(Schema.Literal("query")),
  scope: Schema.String,
  state: optional,
  role: Schema.optional(Schema.Literal("platform", "organizer", "club", "athlete")),
  locale: Schema.optional(Schema.String.pipe(Schema.pattern(/^(?:fr|en)(?:[-_]|$)/))),
  login_hint: optional,
  prompt: optional,
  code_challenge: optional,
  code_challenge_method: Schema.optional(Schema.Literal("S256"))
})

const Client = { client_id: Schema.optional(Identifier), client_secret: optional }

/** A parameter is in the query or in the form, so neither requires it. */
const TokenParameters = Schema.Struct({
  ...Client,
  grant_type: Schema.optional(Schema.Literal("authorization_code", "refresh_token")),
  code: optional,
  redirect_uri: optional,
  code_verifier: optional,
  refresh_token: optional
})

const TokenHeaders = Schema.Struct({
  "idempotency-key": Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[ -~]{1,255}$/)).annotations({
      description: "1 to 255 printable characters. A repeated request with the same key gets the same response."
    })
  )
})

const TokenOf = Schema.Struct({ ...Client, token: optional })

const TokenForm = TokenParameters.pipe(HttpApiSchema.withEncoding({ kind: "UrlParams" }))
const TokenOfForm = TokenOf.pipe(HttpApiSchema.withEncoding({ kind: "UrlParams" }))

const Tokens = Schema.Struct({
  token_type: Schema.Literal("Bearer"),
  access_token: Schema.String,
  refresh_token: Schema.String,
  created_at: Schema.Int,
  expires_in: Schema.Int,
  scope: optional,
  state: optional
}).annotations({ identifier: "Tokens" })

const nothing = Schema.Struct({}).annotations({ jsonSchema: { type: "object", maxProperties: 0 } })

const Introspection = Schema.Struct({
  active: Schema.Boolean,
  scope: optional,
  client_id: optional,
  sub: optional,
  exp: Schema.optional(Schema.Int),
  iat: Schema.optional(Schema.Int),
  token_type: optional
}).annotations({ identifier: "Introspection" })

const page = HttpApiSchema.Text({ contentType: "text/html; charset=utf-8" })

const OAuth = HttpApiGroup.make("oauth")
  .add(
    HttpApiEndpoint.get("authorize", "/oauth/authorize")
      .setUrlParams(AuthorizeParameters)
      .addSuccess(under(200, "The consent page", page))
      .addSuccess(under(303, "To the sign-in page, or back to the application", Schema.Void))
      .addError(under(414, "A page: the request is too long to be returned to the application", page))
      .addError(under(503, "A page: the database is unavailable", page))
  )
  .add(
    HttpApiEndpoint.post("token", "/oauth/token")
      .setUrlParams(TokenParameters)
      .setHeaders(TokenHeaders)
      .setPayload(TokenForm)
      .addSuccess(Tokens)
      .addError(oauthError(400, "The request, code or token is not valid"))
      .addError(oauthError(401, "The client is unknown, or the refresh token was replaced or revoked"))
      .addError(oauthTooLarge)
      .addError(oauthMediaType)
      .addError(tooMany)
      .addError(oauthUnavailable)
  )
  .add(
    HttpApiEndpoint.post("revoke", "/oauth/revoke")
      .setUrlParams(TokenOf)
      .setPayload(TokenOfForm)
      .addSuccess(under(200, "The access is revoked, or the token gives this application no access", nothing))
      .addError(under(400, "The request is not valid: nothing was revoked", nothing))
      .addError(under(401, "The client is unknown, or its secret is missing or wrong: nothing was revoked", nothing))
      .addError(under(413, "The body is larger than 64 KiB: nothing was revoked", nothing))
      .addError(under(415, "The body is not a form: nothing was revoked", nothing))
      .addError(
        under(
          429,
          "Too many failures, or the application has reached its limit of requests: nothing was revoked",
          nothing
        )
      )
      .addError(under(503, "The database is unavailable: nothing was revoked", nothing))
  )
  .add(
    HttpApiEndpoint.post("introspect", "/oauth/introspect")
      .setPayload(TokenOfForm)
      .addSuccess(Introspection)
      .addError(oauthError(400, "The request is not valid"))
      .addError(oauthError(401, "The client is unknown"))
      .addError(oauthTooLarge)
      .addError(oauthMediaType)
      .addError(tooMany)
      .addError(oauthUnavailable)
  )
  .add(
    HttpApiEndpoint.get("metadata", "/.well-known/oauth-authorization-server")
      .addSuccess(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  )
  .add(
    HttpApiEndpoint.get("resource", "/.well-known/oauth-protected-resource")
      .addSuccess(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  )

const Athlete = Schema.Struct({ id: Schema.Int, first_name: Schema.String, last_name: Schema.String })
  .annotations({ identifier: "Athlete" })

const Subscription = Schema.Struct({
  id: Schema.Int,
  callback_url: Schema.String.pipe(Schema.maxLength(255)),
  created_at: Schema.String,
  updated_at: Schema.String
}).annotations({ identifier: "WebhookSubscription" })

const Wanted = Schema.Struct({
  webhook_subscription: Schema.Struct({
    callback_url: Schema.String.pipe(Schema.maxLength(255)),
    verify_token: Schema.String
  })
})

const LogEntry = Schema.Struct({
  cursor: Schema.String,
  sequence: Sequence,
  webhook_id: Schema.String,
  state: Schema.Literal("pending", "delivered", "exhausted", "cancelled", "set_aside"),
  event: EventBody
}).annotations({ identifier: "LogEntry" })

const EventPage = Schema.Struct({
  events: Schema.Array(LogEntry),
  next: Schema.String
}).annotations({ identifier: "EventPage" })

const invalidToken = apiError(401, "The access token is missing, expired, replaced or revoked")
const forbidden = apiError(403, "The token's user does not have the required role, or the token not the required scope")
const unavailable = apiError(503, "The database is unavailable; try again after Retry-After")
const overLimit = apiError(429, "The application has reached its limit of requests; try again after Retry-After")
const none = apiError(404, "There is no subscription")

const Resources = HttpApiGroup.make("resources")
  .add(
    HttpApiEndpoint.get("athlete", "/api/v1/athlete")
      .addSuccess(Athlete)
      .addError(invalidToken)
      .addError(forbidden)
      .addError(overLimit)
      .addError(unavailable)
  )
  .add(
    HttpApiEndpoint.post("subscribe", "/api/v1/webhook_subscription")
      .setPayload(Wanted)
      .addSuccess(under(201, "The callback has answered the challenge", Subscription, "WebhookSubscription"))
      .addError(invalidToken)
      .addError(forbidden)
      .addError(apiError(400, "The body is not JSON"))
      .addError(apiError(413, "The body is larger than 64 KiB"))
      .addError(apiError(415, "The content type is not application/json"))
      .addError(unavailable)
      .addError(apiError(409, "The application already has a subscription"))
      .addError(
        apiError(
          429,
          "The application has reached its limit, a validation is running, or the owner had ten in a minute; see Retry-After"
        )
      )
      .addError(apiError(422, "The callback URL is not valid, or did not answer the challenge"))
  )
  .add(
    HttpApiEndpoint.get("subscription", "/api/v1/webhook_subscription")
      .addSuccess(Subscription)
      .addError(invalidToken)
      .addError(forbidden)
      .addError(none)
      .addError(overLimit)
      .addError(unavailable)
  )
  .add(
    HttpApiEndpoint.get("events", "/api/v1/webhook_subscription/events")
      .setUrlParams(Schema.Struct({ after: optional, limit: Schema.optional(Limit) }))
      .addSuccess(EventPage)
      .addError(invalidToken)
      .addError(forbidden)
      .addError(apiError(422, "`after` is not a cursor of this log, or `limit` is not from 1 to 1000"))
      .addError(overLimit)
      .addError(unavailable)
  )
  .add(
    HttpApiEndpoint.del("unsubscribe", "/api/v1/webhook_subscription")
      .setUrlParams(Schema.Struct({ id: Schema.optional(Identifier) }))
      .addSuccess(HttpApiSchema.NoContent)
      .addError(invalidToken)
      .addError(forbidden)
      .addError(none)
      .addError(overLimit)
      .addError(unavailable)
  )

const Health = Schema.Struct({ status: Schema.String })

const Service = HttpApiGroup.make("service")
  .add(
    HttpApiEndpoint.get("healthz", "/healthz")
      .addSuccess(Health)
  )
  .add(
    HttpApiEndpoint.get("readyz", "/readyz")
      .addSuccess(Health)
      .addError(under(503, "The database does not answer, or this node is stopping", Health))
  )
  .add(
    HttpApiEndpoint.get("metrics", "/metrics")
      .addSuccess(HttpApiSchema.Text({ contentType: "text/plain; version=0.0.4; charset=utf-8" }))
      .addError(apiError(401, "The request is neither from this machine nor has the operator token"))
      .addError(apiError(429, "Too many wrong operator tokens; try again after Retry-After"))
  )
  .add(
    HttpApiEndpoint.get("asyncapi", "/asyncapi.json")
      .addSuccess(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  )
  .add(
    HttpApiEndpoint.get("openapi", "/openapi.json")
      .addSuccess(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  )

/** `/oauth/*`, `/api/v1/*` (requirements §4), and health, readiness and metrics of a node. */
export const ProtocolApi = HttpApi.make("protocol").add(OAuth).add(Resources).add(Service)
