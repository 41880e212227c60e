/** What a token stands for, as RFC 7662 tells it. */
import type * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Access from "./Access.ts"
import type { ApplicationId } from "./Application.ts"
import * as Grant from "./Grant.ts"
import type { AccessToken, RefreshToken, Scope } from "./Token.ts"
import type { UserId } from "./User.ts"

/** What is known of a live token (RFC 7662 §2.2). */
export interface Introspection {
  readonly kind: "access" | "refresh"
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly scope: Scope
  readonly issuedAt: Option.Option<DateTime.Utc>
  readonly expiresAt: DateTime.Utc
}

/** Of an access token that lets its bearer in. */
export const ofAccess = (found: Grant.Found<AccessToken>, now: DateTime.Utc): Option.Option<Introspection> =>
  Option.map(Either.getRight(Access.authenticate(found, now)), (access) => ({
    ...access,
    kind: "access",
    issuedAt: Option.some(access.createdAt)
  }))

/** Of a refresh token that could be rotated now. */
export const ofRefresh = (found: Grant.Found<RefreshToken>, now: DateTime.Utc): Option.Option<Introspection> =>
  Grant.isCurrent(found, now)
    ? Option.some({
      ...found.grant,
      kind: "refresh",
      issuedAt: found.grant.issuedAt,
      expiresAt: found.credential.expiresAt
    })
    : Option.none()
