/** Descriptions of tokens by RFC 7662. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Access from "./Access.ts"
import type { ApplicationId } from "./Application.ts"
import type { Grant } from "./Grant.ts"
import type { TokenHash } from "./Secrets.ts"
import { isOver, type Scope } from "./Token.ts"
import type { UserId } from "./User.ts"

/** The description of a live token (RFC 7662 §2.2). */
export interface Introspection {
  readonly kind: "access" | "refresh"
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly scope: Scope
  readonly issuedAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
}

/** Describes a valid access token. */
export const ofAccess = (grant: Grant, token: TokenHash, now: DateTime.Utc): Option.Option<Introspection> =>
  Option.map(Access.find(grant, token, now), ({ createdAt, ...access }) => ({
    ...access,
    kind: "access",
    issuedAt: createdAt
  }))

/** Describes a refresh token that can be used now. */
export const ofRefresh = (grant: Grant, token: TokenHash, now: DateTime.Utc): Option.Option<Introspection> =>
  grant.refresh.pipe(
    Option.filter(({ expiresAt, hash }) => hash === token && !isOver(expiresAt, now)),
    Option.map(({ expiresAt, issuedAt }) => ({
      kind: "refresh",
      applicationId: grant.applicationId,
      userId: grant.userId,
      scope: grant.scope,
      issuedAt,
      expiresAt
    }))
  )
