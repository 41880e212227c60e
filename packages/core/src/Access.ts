/** The access that an access token gives to its bearer (requirements §4.5), and descriptions of tokens (RFC 7662). */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ApplicationState } from "./Application.ts"
import type { Grant } from "./Grant.ts"
import type { Fingerprint } from "./Secrets.ts"
import { type AccessToken, isOver, type Scope } from "./Token.ts"

/** The token is unknown, expired, replaced or revoked (RFC 6750 §3.1, requirements §7). */
export class InvalidToken extends Schema.TaggedError<InvalidToken>()("@startlist/core/InvalidToken", {}) {}

/** The user, application and scope of an access token, and the limit of the application. */
export interface BearerAccess
  extends
    Pick<Grant, "applicationId" | "userId" | "role">,
    Pick<AccessToken, "scope" | "createdAt" | "expiresAt">,
    Pick<ApplicationState, "requestsPerMinute">
{}

/** The access of a token that is in the grant and has not expired. A revoked grant has no tokens. */
export const find = (grant: Grant, token: Fingerprint, now: DateTime.Utc): Option.Option<BearerAccess> => {
  // The newest first, which clients use most.
  const found = grant.access.findLast(({ hash }) => hash === token)
  if (found === undefined || isOver(found.expiresAt, now)) return Option.none()
  const { applicationId, role, userId } = grant
  const { createdAt, expiresAt, scope } = found
  return Option.some({ applicationId, userId, role, scope, createdAt, expiresAt })
}

/** The scopes of the grant and of its live tokens, which may be those of an earlier, broader consent. */
export const liveScope = ({ access, scope }: Grant, now: DateTime.Utc): Scope => {
  const live = access.filter(({ expiresAt }) => !isOver(expiresAt, now))
  return [...new Set([...scope, ...live.flatMap((token) => token.scope)])]
}

/** The description of a live token (RFC 7662 §2.2). */
export interface Introspection extends Omit<BearerAccess, "role" | "requestsPerMinute"> {
  readonly kind: "access" | "refresh"
}

/** Describes an access token, or a refresh token that can be used now. */
export const describe = (
  grant: Grant,
  token: Fingerprint,
  kind: Introspection["kind"],
  now: DateTime.Utc
): Option.Option<Introspection> => {
  if (kind === "access") return Option.map(find(grant, token, now), (access) => ({ ...access, kind }))
  const { applicationId, refresh, scope, userId } = grant
  return refresh.pipe(
    Option.filter(({ expiresAt, hash }) => hash === token && !isOver(expiresAt, now)),
    Option.map(({ expiresAt, issuedAt }) => ({ kind, applicationId, userId, scope, createdAt: issuedAt, expiresAt }))
  )
}
