/**
 * What one user has granted to one application, and the chain of tokens that came of it.
 *
 * Invariants, kept by the transitions below and by the compare-and-set of `GrantStore.save`:
 *
 * - `version` counts the saves. Consenting, redeeming, rotating and revoking are ordered by it.
 * - `epoch` counts the lives of the grant: a code or token is good only in the epoch in which it was made, and only
 *   while the grant is active. Revoking is therefore one update, however many tokens there are.
 * - `generation` counts the refresh tokens: the one with the grant's generation is current, all others are replaced.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationId } from "./Application.ts"
import { Audience, type EventId, type Outgoing } from "./Event.ts"
import type { Policy } from "./Policy.ts"
import type { TokenHash } from "./Secrets.ts"
import { Version } from "./Store.ts"
import { type AccessToken, type Code, isOver, type RefreshToken, Scope } from "./Token.ts"
import { Role, UserId } from "./User.ts"

export const Grant = Schema.Struct({
  applicationId: ApplicationId,
  userId: UserId,
  version: Version,
  status: Schema.Literal("active", "revoked"),
  role: Role,
  scope: Scope,
  epoch: Schema.NonNegativeInt,
  generation: Schema.NonNegativeInt,
  /** First consent of the present epoch. */
  grantedAt: Schema.DateTimeUtcFromSelf,
  /** When the current refresh token was issued: its predecessor was replaced then. */
  issuedAt: Schema.Option(Schema.DateTimeUtcFromSelf)
})
export type Grant = typeof Grant.Type

/** A credential together with the grant that it belongs to, read in one snapshot. */
export interface Found<Credential> {
  readonly grant: Grant
  readonly credential: Credential
}

/** One atomic save: the grant at its next version, and everything that the decision caused. */
export interface Change {
  readonly grant: Grant
  /** A new code. */
  readonly code: Option.Option<Code>
  /** The code that was used up. */
  readonly redeemed: Option.Option<TokenHash>
  readonly issued: Option.Option<{ readonly access: AccessToken; readonly refresh: RefreshToken }>
  readonly outgoing: ReadonlyArray<Outgoing>
}

/**
 * Why a code or refresh token is refused.
 *
 * - `unknown`, `expired`, `mismatch` (another client's, or the wrong redirect URI or verifier): no side effect.
 * - `replaced`: the refresh token was rotated away a moment ago, a client's double send.
 * - `replayed`: a used code or a long-replaced refresh token; the grant is to be revoked (RFC 9700 §4.14.2).
 * - `revoked`: the grant was revoked since.
 */
export class InvalidGrant extends Schema.TaggedError<InvalidGrant>("@startlist/core/InvalidGrant")("InvalidGrant", {
  reason: Schema.Literal("unknown", "expired", "mismatch", "replaced", "replayed", "revoked")
}) {}

/** What presenting a code or refresh token leads to. */
export type Decision<E = never> =
  | { readonly _tag: "Issued"; readonly change: Change }
  | { readonly _tag: "Refused"; readonly error: E | InvalidGrant }
  /** A replay: refused once the revocation is saved, even if the client goes away (RFC 9700 §4.14.2). */
  | { readonly _tag: "RevokedAndRefused"; readonly change: Change; readonly error: InvalidGrant }

const refuse = (reason: InvalidGrant["reason"]): Decision => ({ _tag: "Refused", error: new InvalidGrant({ reason }) })

const revokeAndRefuse = (grant: Grant): Decision => ({
  _tag: "RevokedAndRefused",
  change: revoke(grant),
  error: new InvalidGrant({ reason: "replayed" })
})

/** The next version of a grant. */
const advance = (
  grant: Grant,
  fields: Partial<Pick<Grant, "status" | "role" | "scope" | "epoch" | "grantedAt" | "issuedAt">>
): Grant => ({ ...grant, ...fields, version: grant.version + 1 })

const nothing: Omit<Change, "grant"> = {
  code: Option.none(),
  redeemed: Option.none(),
  issued: Option.none(),
  outgoing: []
}

/** Whether tokens of this epoch are good: they were made in the present life of the grant, and it lasts. */
export const isLive = (grant: Grant, epoch: number): boolean => grant.status === "active" && grant.epoch === epoch

/** What the user says yes to. */
export interface Consent {
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly role: Role
  readonly scope: Scope
  readonly redirectUri: string
  readonly state: Option.Option<string>
  readonly challenge: Option.Option<string>
}

/**
 * The user consents: a pending code in the grant's present life, or in a new one if there was none.
 *
 * A consent beside a living grant changes nothing of it until its code is redeemed.
 */
export const consent = (
  existing: Option.Option<Grant>,
  consented: Consent,
  code: TokenHash,
  now: DateTime.Utc,
  policy: Policy.Service
): Change => {
  const { applicationId, role, scope, userId } = consented
  const grant = Option.match(existing, {
    onNone: (): Grant => ({
      applicationId,
      userId,
      role,
      scope,
      version: 1,
      status: "active",
      epoch: 1,
      generation: 0,
      grantedAt: now,
      issuedAt: Option.none()
    }),
    onSome: (grant) =>
      grant.status === "active"
        ? advance(grant, {})
        : advance(grant, {
          status: "active",
          role,
          scope,
          epoch: grant.epoch + 1,
          grantedAt: now,
          issuedAt: Option.none()
        })
  })
  return {
    ...nothing,
    grant,
    code: Option.some({
      hash: code,
      epoch: grant.epoch,
      redirectUri: consented.redirectUri,
      scope,
      state: consented.state,
      challenge: consented.challenge,
      expiresAt: DateTime.addDuration(now, policy.codeLifetime),
      redeemed: false
    })
  }
}

/** A freshly made pair: the fingerprints, and when each expires. */
export interface FreshTokens {
  readonly access: TokenHash
  readonly accessExpiresAt: DateTime.Utc
  readonly refresh: TokenHash
  readonly refreshExpiresAt: DateTime.Utc
}

/**
 * Issues a pair: a new access token beside the older ones, and the refresh token that replaces the current one. Every
 * field is spelt out, as this is made in every refresh: a spread with fields behind it costs thirty times as much.
 */
const issue = (
  grant: Grant,
  scope: Scope,
  fresh: FreshTokens,
  now: DateTime.Utc,
  redeemed: Change["redeemed"]
): Decision => {
  const { epoch } = grant
  const generation = grant.generation + 1
  return {
    _tag: "Issued",
    change: {
      grant: {
        applicationId: grant.applicationId,
        userId: grant.userId,
        role: grant.role,
        scope,
        version: grant.version + 1,
        status: grant.status,
        epoch,
        generation,
        grantedAt: grant.grantedAt,
        issuedAt: Option.some(now)
      },
      code: Option.none(),
      redeemed,
      issued: Option.some({
        access: { hash: fresh.access, epoch, scope, createdAt: now, expiresAt: fresh.accessExpiresAt },
        refresh: { hash: fresh.refresh, epoch, generation, expiresAt: fresh.refreshExpiresAt }
      }),
      outgoing: []
    }
  }
}

/** Who presents a code, and what comes with it. */
export interface Redemption {
  readonly applicationId: ApplicationId
  /** Must equal the authorized one if given. */
  readonly redirectUri: Option.Option<string>
  /** BASE64URL(SHA-256(code_verifier)). */
  readonly challenge: Option.Option<string>
}

/**
 * Exchanges a code for tokens: once, within its lifetime, by its own client, with its redirect URI and verifier
 * (RFC 6749 §4.1.3, RFC 7636 §4.6). A second use within its lifetime is a replay. What binds the code is checked before
 * that, so that a stolen code in other hands revokes nothing.
 */
export const redeem = (
  { credential: code, grant }: Found<Code>,
  presented: Redemption,
  fresh: FreshTokens,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision => {
  if (grant.applicationId !== presented.applicationId) return refuse("mismatch")
  if (Option.isSome(presented.redirectUri) && presented.redirectUri.value !== code.redirectUri) {
    return refuse("mismatch")
  }
  if (Option.getOrNull(presented.challenge) !== Option.getOrNull(code.challenge)) return refuse("mismatch")
  // A code is forgotten when its lifetime ends, used or not: whether a purge has removed it makes no difference.
  if (isOver(code.expiresAt, now)) return refuse("expired")
  if (!isLive(grant, code.epoch)) return refuse("revoked")
  if (code.redeemed) return policy.revokeOnReplay ? revokeAndRefuse(grant) : refuse("expired")
  return issue(grant, code.scope, fresh, now, Option.some(code.hash))
}

/** A refresh asks for more than was granted (RFC 6749 §6; §5.2 `invalid_scope`). Nothing has happened. */
export class ScopeExceeded extends Schema.TaggedError<ScopeExceeded>("@startlist/core/ScopeExceeded")("ScopeExceeded", {
  /** One that was not granted. */
  scope: Schema.String
}) {}

/** Who presents a refresh token, and the scope asked for, if one is. */
export interface Renewal {
  readonly applicationId: ApplicationId
  readonly scope: Option.Option<Scope>
}

/**
 * Refreshes: the current refresh token is replaced, and dies at once (requirements §3.2).
 *
 * A replaced one is refused. If it is the immediate predecessor and the rotation is younger than the grace, that is
 * all: a client sent twice. Otherwise someone else has it, and the grant is to be revoked (RFC 9700 §4.14.2).
 */
export const rotate = (
  { credential: token, grant }: Found<RefreshToken>,
  { applicationId, scope }: Renewal,
  fresh: FreshTokens,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision<ScopeExceeded> => {
  if (grant.applicationId !== applicationId) return refuse("mismatch")
  if (!isLive(grant, token.epoch)) return refuse("revoked")
  if (token.generation !== grant.generation) {
    const sentTwice = token.generation === grant.generation - 1 &&
      Option.exists(grant.issuedAt, (at) => !isOver(DateTime.addDuration(at, policy.replayGrace), now))
    return sentTwice || !policy.revokeOnReplay ? refuse("replaced") : revokeAndRefuse(grant)
  }
  if (isOver(token.expiresAt, now)) return refuse("expired")
  const excess = Option.isSome(scope) ? scope.value.find((name) => !grant.scope.includes(name)) : undefined
  if (excess !== undefined) return { _tag: "Refused", error: new ScopeExceeded({ scope: excess }) }
  return issue(grant, grant.scope, fresh, now, Option.none())
}

/** Ends this life of the grant: every code and token of it is dead when the change is saved. */
export const revoke = (grant: Grant): Change => ({ ...nothing, grant: advance(grant, { status: "revoked" }) })

/** Whether a token of this epoch entitles this application to revoke the grant: its own, and in this life. */
export const isRevocable = (grant: Grant, epoch: number, applicationId: ApplicationId): boolean =>
  grant.applicationId === applicationId && isLive(grant, epoch)

/**
 * The user revokes. An athlete's or organizer's revocation is told to the application (requirements §6.1); other
 * roles are no object of an event.
 */
export const revokeByUser = (grant: Grant, event: EventId, now: DateTime.Utc): Change => ({
  ...revoke(grant),
  outgoing: grant.role === "athlete" || grant.role === "organizer"
    ? [{
      event: {
        id: event,
        aspectType: "deleted",
        objectType: grant.role,
        objectId: grant.userId,
        updates: {},
        time: now
      },
      audience: Audience.Application({ applicationId: grant.applicationId })
    }]
    : []
})

/** Whether a refresh token could be rotated now (for introspection, RFC 7662). */
export const isCurrent = ({ credential: token, grant }: Found<RefreshToken>, now: DateTime.Utc): boolean =>
  isLive(grant, token.epoch) && token.generation === grant.generation && !isOver(token.expiresAt, now)
