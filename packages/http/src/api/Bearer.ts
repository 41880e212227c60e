/** Access to resources with an access token (requirements §4.5, RFC 6750), and its challenges (RFC 9728 §5.1). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { BearerAccess } from "@startlist/core/Grant"
import { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import type { FailureLimit } from "../FailureLimit.ts"
import { credentials, type Request, type Response } from "../Http.ts"
import type { TooMany } from "../Refusal.ts"
import * as ApplicationLimits from "../ApplicationLimits.ts"
import { type Resource, resourceMetadataUrl } from "../HttpConfig.ts"
import * as ApiResponse from "./ApiResponse.ts"
import { InsufficientScope, type NotEntitled, NotPlatformUser } from "@startlist/core/Subscriptions"

/** The token of an `Authorization: Bearer` header; the scheme in any case (RFC 9110 §11.1). */
export const bearerToken = (request: Pick<Request, "headers">): Option.Option<string> => {
  const token = credentials(request, "bearer")
  return token !== undefined && /^[\w.~+/-]+=*$/.test(token) ? Option.some(token) : Option.none()
}

/** Whether the request tries to authenticate by the scheme Bearer at all. */
export const usesBearer = (request: Pick<Request, "headers">): boolean => credentials(request, "bearer") !== undefined

/** A requested resource. The challenge names its metadata, and the first of its scopes. */
export type Requested = { readonly [name in keyof Resource]?: Resource[name] | undefined }

const challengeOf = ({ scopes, url }: Requested, error = ""): string => {
  const scope = scopes?.[0]
  return `Bearer realm="startlist"${error}${scope === undefined ? "" : `, scope="${scope}"`}${
    url === undefined ? "" : `, resource_metadata="${resourceMetadataUrl({ url })}"`
  }`
}

const unauthorized = (message: string, challenge: string): Response =>
  ApiResponse.error(
    401,
    message,
    [{ resource: "AccessToken", field: "authorization", code: "invalid", message }],
    { "www-authenticate": challenge }
  )

/** No error code for a request without a token, or with another scheme (RFC 6750 §3.1). */
const missing = (requested: Requested): Response => unauthorized("an access token is required", challengeOf(requested))

const invalid = ", error=\"invalid_token\", error_description=\"the access token is not valid\""

/** The challenge to a bearer of a wrong token (RFC 6750 §3). */
export const challenge = challengeOf({}, invalid)

/** The token is unknown, expired, replaced or revoked (requirements §7). */
export const invalidToken = (requested: Requested): Response =>
  unauthorized("the access token is not valid", challengeOf(requested, invalid))

/** The token is valid, but does not allow this (RFC 6750 §3.1). `resource` is the name in the body. */
export const insufficientScope = (requested: Requested, resource: string, message: string): Response =>
  ApiResponse.error(
    403,
    message,
    [{ resource, field: "scope", code: "insufficient_scope", message }],
    { "www-authenticate": challengeOf(requested, `, error="insufficient_scope", error_description="${message}"`) }
  )

/** Runs `use` for a valid token of an application within its limit. Requests without one get 401 with a challenge. */
export type WithBearer = <A, E>(
  request: Pick<Request, "headers" | "onApplication">,
  requested: Requested,
  use: (access: BearerAccess) => Effect.Effect<A, E>
) => Effect.Effect<A | Response, E | TooMany | StoreError>

/** Checks the access tokens of requests. */
export const make: Effect.Effect<WithBearer, never, OAuth | FailureLimit> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const { admit } = yield* ApplicationLimits.make
  return <A, E>(
    request: Pick<Request, "headers" | "onApplication">,
    requested: Requested,
    use: (access: BearerAccess) => Effect.Effect<A, E>
  ) => {
    const token = bearerToken(request)
    if (Option.isNone(token)) {
      return Effect.succeed(usesBearer(request) ? invalidToken(requested) : missing(requested))
    }
    const presented = Redacted.make(token.value)
    return Effect.matchEffect(oauth.authenticate(presented), {
      onSuccess: (access): Effect.Effect<A, E | TooMany> => {
        // Not used again. Wiping it now is cheaper than garbage collection.
        Redacted.unsafeWipe(presented)
        return Effect.zipRight(admit(request, access.applicationId, access.requestsPerMinute), use(access))
      },
      onFailure: (error): Effect.Effect<Response, StoreError> =>
        error._tag === "@startlist/core/InvalidToken" ? Effect.succeed(invalidToken(requested)) : Effect.fail(error)
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
export const refuseNotEntitled = (requested: Requested) => (error: NotEntitled): Effect.Effect<Response> =>
  Effect.succeed(
    error._tag === "@startlist/core/NotPlatformUser"
      ? notPlatform
      : insufficientScope(requested, "WebhookSubscription", `the scope ${error.scope} is required`)
  )
