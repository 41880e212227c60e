/** Guards your own routes with access tokens. Refusals are those of `/api/v1` (RFC 6750). */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { BearerAccess } from "@startlist/core/Grant"
import type { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import type { Role } from "@startlist/core/User"
import * as ApiResponse from "./api/ApiResponse.ts"
import * as Bearer from "./api/Bearer.ts"
import type { FailureLimit } from "./FailureLimit.ts"
import type { Request, Response } from "./Http.ts"
import type { Refusal } from "./Refusal.ts"

/** Requirement for a token. */
export interface Requirement {
  /**
   * The public URL of what is guarded, one of `HttpConfig.resources`. The challenge then names its metadata, by which
   * clients find this service (RFC 9728).
   */
  readonly resource?: string
  /** The token must have at least one of these scopes. The challenge names the first one. Default: any scope. */
  readonly scopes?: ReadonlyArray<string>
  /** The token's user must have one of these roles. Default: any role. */
  readonly roles?: ReadonlyArray<Role>
}

/** Either the access of the token, or the refusal. */
export type Checked =
  | { readonly access: BearerAccess; readonly refused?: never }
  | { readonly access?: never; readonly refused: Response }

/** A refusal that does not depend on the token. */
export const refuse = (refusal: Refusal | StoreError): Checked => ({ refused: ApiResponse.refused(refusal) })

/** Checks the `Authorization` header of a request. */
export type Check = (
  request: Pick<Request, "headers" | "onApplication">,
  requirement?: Requirement
) => Effect.Effect<Checked>

const isOneOf = <A>(wanted: ReadonlyArray<A> | undefined, given: ReadonlyArray<A>): boolean =>
  wanted === undefined || given.some((one) => wanted.includes(one))

const wrongRole = ApiResponse.error(403, "the token's user does not have the required role", [{
  resource: "AccessToken",
  field: "role",
  code: "forbidden",
  message: "the token's user does not have the required role"
}])

const judge = (access: BearerAccess, { resource, roles, scopes }: Requirement): Checked =>
  !isOneOf(roles, [access.role])
    ? { refused: wrongRole }
    : !isOneOf(scopes, access.scope)
    ? {
      refused: Bearer.insufficientScope(
        { url: resource, scopes },
        "AccessToken",
        "the token does not have a required scope"
      )
    }
    : { access }

/**
 * Refuses a missing or invalid token with 401 and a challenge, one with the wrong scope or role with 403, an application
 * over its limit with 429, and every request with 503 while the store is unavailable.
 */
export const make: Effect.Effect<Check, never, OAuth | FailureLimit> = Effect.map(
  Bearer.make,
  (withBearer) => (request, requirement = {}) =>
    withBearer(
      request,
      { url: requirement.resource, scopes: requirement.scopes },
      (access) => Effect.succeed(judge(access, requirement))
    ).pipe(
      Effect.map((answer): Checked => "status" in answer ? { refused: answer } : answer),
      Effect.catchTags({
        "@startlist/http/TooMany": (error) => Effect.succeed(refuse(error)),
        "@startlist/core/StoreError": (error) =>
          Effect.as(
            // As a cause: in a JSON log, an error among the messages would lose its reason.
            Effect.logError("an access token could not be checked: the store is unavailable", Cause.fail(error)),
            refuse(error)
          )
      })
    )
)
