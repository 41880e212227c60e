/** Lets the bearers of access tokens through to routes of the server's own, with the answers of `/api/v1` (RFC 6750). */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Access } from "@startlist/core/Access"
import type { OAuth } from "@startlist/core/OAuth"
import type { Role } from "@startlist/core/User"
import * as ApiResponse from "./api/ApiResponse.ts"
import * as Bearer from "./api/Bearer.ts"
import type { Request, Response } from "./Message.ts"

/** What a token must be good for. */
export interface Requirement {
  /** Any one of these scopes will do. Default: none is asked for. */
  readonly scopes?: ReadonlyArray<string>
  /** Any one of these roles of the user will do. Default: all. */
  readonly roles?: ReadonlyArray<Role>
}

/** Either what the token gives access to, or the answer to the request. */
export type Checked =
  | { readonly access: Access; readonly refused?: never }
  | { readonly access?: never; readonly refused: Response }

/** Checks the `Authorization` header of a request. */
export type Check = (request: Pick<Request, "headers">, requirement?: Requirement) => Effect.Effect<Checked>

const isOneOf = <A>(wanted: ReadonlyArray<A> | undefined, given: ReadonlyArray<A>): boolean =>
  wanted === undefined || given.some((one) => wanted.includes(one))

const wrongRole = ApiResponse.error(403, "the user of this token has not the role that this takes", [{
  resource: "AccessToken",
  field: "role",
  code: "forbidden",
  message: "the user of this token has not the role that this takes"
}])

const judge = (access: Access, { roles, scopes }: Requirement): Checked =>
  !isOneOf(roles, [access.role])
    ? { refused: wrongRole }
    : !isOneOf(scopes, access.scope)
    ? { refused: Bearer.insufficientScope("AccessToken", "no granted scope allows this") }
    : { access }

/**
 * 401 with a challenge for a token that is missing or not good, 403 for one that is good but not for this, 503 if the
 * store cannot tell.
 */
export const make: Effect.Effect<Check, never, OAuth> = Effect.map(
  Bearer.make,
  (withBearer) => (request, requirement = {}) =>
    withBearer(request, (access) => Effect.succeed(judge(access, requirement))).pipe(
      Effect.map((answer): Checked => "status" in answer ? { refused: answer } : answer),
      Effect.catchAll((error) =>
        Effect.as(
          // As a cause: of an error among the messages, a log in JSON shows nothing of why.
          Effect.logError("an access token could not be checked: the store is unavailable", Cause.fail(error)),
          { refused: ApiResponse.refused(error) }
        )
      )
    )
)
