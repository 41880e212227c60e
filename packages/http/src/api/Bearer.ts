/** Access to resources with an access token (requirements §4.5, RFC 6750). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { BearerAccess } from "@startlist/core/Access"
import { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import type { FailureLimit } from "../FailureLimit.ts"
import { credentials, type Request, type Response } from "../Http.ts"
import type { TooMany } from "../Refusal.ts"
import * as RequestLimit from "../internal/requestLimit.ts"
import * as ApiResponse from "./ApiResponse.ts"
import { InsufficientScope, type NotEntitled, NotPlatformUser } from "@startlist/core/Subscriptions"

/** The token of an `Authorization: Bearer` header; the scheme in any case (RFC 9110 §11.1). */
export const bearerToken = (request: Pick<Request, "headers">): Option.Option<string> => {
  const token = credentials(request, "bearer")
  return token !== undefined && /^[\w.~+/-]+=*$/.test(token) ? Option.some(token) : Option.none()
}

/** Whether the request tries to authenticate by the scheme Bearer at all. */
export const usesBearer = (request: Pick<Request, "headers">): boolean => credentials(request, "bearer") !== undefined

const unauthorized = (message: string, challenge: string): Response =>
  ApiResponse.error(
    401,
    message,
    [{ resource: "AccessToken", field: "authorization", code: "invalid", message }],
    { "www-authenticate": challenge }
  )

/** No error code for a request without a token, or with another scheme (RFC 6750 §3.1). */
const missing = unauthorized("an access token is required", "Bearer realm=\"startlist\"")

/** The challenge to a bearer of a wrong token (RFC 6750 §3). */
export const challenge =
  "Bearer realm=\"startlist\", error=\"invalid_token\", error_description=\"the access token is not valid\""

/** The token is unknown, expired, replaced or revoked (requirements §7). */
export const invalidToken = unauthorized("the access token is not valid", challenge)

/**
 * The token is valid, but does not allow this (RFC 6750 §3.1). The challenge names the required scope, if there is one.
 */
export const insufficientScope = (resource: string, message: string, scope?: string): Response => {
  const challenge = `Bearer realm="startlist", error="insufficient_scope", error_description="${message}"`
  return ApiResponse.error(
    403,
    message,
    [{ resource, field: "scope", code: "insufficient_scope", message }],
    { "www-authenticate": scope === undefined ? challenge : `${challenge}, scope="${scope}"` }
  )
}

/** Runs `use` for a valid token of an application within its limit. Requests without one get 401 with a challenge. */
export type WithBearer = <A, E>(
  request: Pick<Request, "headers" | "onApplication">,
  use: (access: BearerAccess) => Effect.Effect<A, E>
) => Effect.Effect<A | Response, E | TooMany | StoreError>

/** Checks the access tokens of requests. */
export const make: Effect.Effect<WithBearer, never, OAuth | FailureLimit> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const admit = yield* RequestLimit.make
  return <A, E>(
    request: Pick<Request, "headers" | "onApplication">,
    use: (access: BearerAccess) => Effect.Effect<A, E>
  ) => {
    const token = bearerToken(request)
    if (Option.isNone(token)) {
      return Effect.succeed(usesBearer(request) ? invalidToken : missing)
    }
    const presented = Redacted.make(token.value)
    return Effect.matchEffect(oauth.authenticate(presented), {
      onSuccess: (access): Effect.Effect<A, E | TooMany> => {
        // Not used again. Wiping it now is cheaper than garbage collection.
        Redacted.unsafeWipe(presented)
        return Effect.zipRight(admit(request, access.applicationId, access.requestsPerMinute), use(access))
      },
      onFailure: (error): Effect.Effect<Response, StoreError> =>
        error._tag === "@startlist/core/InvalidToken" ? Effect.succeed(invalidToken) : Effect.fail(error)
    })
  }
})

const platformOnly = "only a registration platform user may manage the subscription"

const notPlatform = ApiResponse.error(403, platformOnly, [
  { resource: "WebhookSubscription", field: "role", code: "forbidden", message: platformOnly }
])

/** Whether this is the refusal of an access token that may not use the webhook API (requirements §5.8). */
export const isNotEntitled = (error: unknown): error is NotEntitled =>
  error instanceof NotPlatformUser || error instanceof InsufficientScope

/** Answers a token that may not use the webhook API. */
export const refuseNotEntitled = (error: NotEntitled): Effect.Effect<Response> =>
  Effect.succeed(
    error._tag === "@startlist/core/NotPlatformUser"
      ? notPlatform
      : insufficientScope("WebhookSubscription", `the scope ${error.scope} is required`, error.scope)
  )
