/** What the bearer of an access token may do (requirements §4.5). */
import type * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ApplicationId } from "./Application.ts"
import * as Grant from "./Grant.ts"
import { type AccessToken, isOver, type Scope } from "./Token.ts"
import type { Role, UserId } from "./User.ts"

/** The bearer of a token is not let in: unknown, expired, replaced or revoked (RFC 6750 §3.1, requirements §7). */
export class InvalidToken
  extends Schema.TaggedError<InvalidToken>("@startlist/core/InvalidToken")("InvalidToken", {})
{}

/** What an access token stands for. */
export interface Access {
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly role: Role
  readonly scope: Scope
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
}

/** Whether an access token is good: not expired, its grant active, and of its present epoch. */
export const authenticate = (
  { credential: token, grant }: Grant.Found<AccessToken>,
  now: DateTime.Utc
): Either.Either<Access, InvalidToken> =>
  Grant.isLive(grant, token.epoch) && !isOver(token.expiresAt, now)
    ? Either.right({
      applicationId: grant.applicationId,
      userId: grant.userId,
      role: grant.role,
      scope: token.scope,
      createdAt: token.createdAt,
      expiresAt: token.expiresAt
    })
    : Either.left(new InvalidToken())
