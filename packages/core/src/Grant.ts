/**
 * What one user has granted to one application, with all codes and tokens that came of it: one record.
 *
 * Invariants, kept by the transitions below and by the compare-and-set of `GrantStore.save`:
 *
 * - `version` counts the saves. Consenting, redeeming, rotating and revoking are ordered by it.
 * - `epoch` counts the lives of the grant. Revoking ends one: no code and no token is left in the record.
 * - `applicationEpoch` is that of the application when this life began. If the application has a later one, all its
 *   grants were revoked since: see `asOf`.
 * - `generation` counts the refresh tokens. Only the current one is stored, by its fingerprint. A refresh token names its
 *   epoch and generation, so an older one is recognised if a key of the service made it.
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as AccessTokens from "./AccessTokens.ts"
import { ApplicationId, type Standing as ApplicationStanding } from "./Application.ts"
import { Audience, type EventOrigin, type Outgoing } from "./Event.ts"
import { makeInstants } from "./internal/instants.ts"
import type { Policy } from "./Policy.ts"
import { type Origin, type Secrets, shortened, type TokenHash, type TokenKey, type TokenPair } from "./Secrets.ts"
import { Version } from "./Store.ts"
import * as Token from "./Token.ts"
import { type AccessToken, Code, isOver, RefreshToken, Scope, type Tokens } from "./Token.ts"
import { Role, UserId } from "./User.ts"

export const Grant = Schema.Struct({
  applicationId: ApplicationId,
  userId: UserId,
  version: Version,
  status: Schema.Literal("active", "revoked"),
  role: Role,
  scope: Scope,
  epoch: Schema.NonNegativeInt,
  applicationEpoch: Schema.NonNegativeInt,
  generation: Schema.NonNegativeInt,
  /** First consent of the present epoch. */
  grantedAt: Schema.DateTimeUtcFromNumber,
  /** The current refresh token. None before the first code is exchanged, and after a revocation. */
  refresh: Schema.OptionFromNullOr(RefreshToken),
  /** The next save removes expired ones at the front. */
  access: AccessTokens.AccessTokens,
  /** Codes within their lifetime, pending or used, oldest first. An expired one leaves with the next save. */
  codes: Schema.Array(Code)
})
export type Grant = typeof Grant.Type

/** A grant, and the application as it was at the same moment. */
export interface Found {
  readonly grant: Grant
  readonly application: ApplicationStanding
}

/** The grant as its application stands: revoked, with nothing left in it, if all grants of the application were. */
export const asOf = ({ application, grant }: Found): Grant =>
  grant.applicationEpoch === application.epoch
    ? grant
    : { ...grant, status: "revoked", refresh: Option.none(), access: AccessTokens.none, codes: [] }

/** One atomic save: the grant at its next version, and the events that the decision causes. */
export interface Change {
  readonly grant: Grant
  readonly outgoing: ReadonlyArray<Outgoing>
}

/**
 * Why a code or refresh token is refused.
 *
 * - `unknown` (a code also when it has expired), `expired`, `mismatch` (another client's, or the wrong redirect URI or
 *   verifier): no side effect.
 * - `replaced`: the refresh token was rotated away a moment ago, a client's double send.
 * - `replayed`: a used code or a long-replaced refresh token; the grant is to be revoked (RFC 9700 §4.14.2).
 * - `revoked`: the grant of the refresh token was revoked since.
 */
export class InvalidGrant extends Schema.TaggedError<InvalidGrant>("@startlist/core/InvalidGrant")("InvalidGrant", {
  reason: Schema.Literal("unknown", "expired", "mismatch", "replaced", "replayed", "revoked")
}) {}

/** What presenting a code or refresh token leads to. */
export type Decision<E = never> =
  /** A new pair, which is good once the change is saved. */
  | { readonly _tag: "Issued"; readonly change: Change; readonly tokens: Tokens }
  /** The answer to the first of several equal requests, once more. Nothing changes. */
  | { readonly _tag: "Repeated"; readonly tokens: Tokens }
  | { readonly _tag: "Refused"; readonly error: E | InvalidGrant }
  /** A replay: refused once the revocation is saved, even if the client goes away (RFC 9700 §4.14.2). */
  | { readonly _tag: "RevokedAndRefused"; readonly change: Change; readonly error: InvalidGrant }

const refuse = (reason: InvalidGrant["reason"]): Decision => ({ _tag: "Refused", error: new InvalidGrant({ reason }) })

/** A replay. */
const revokeAndRefuse = (grant: Grant): Decision => ({
  _tag: "RevokedAndRefused",
  change: revoke(grant),
  error: new InvalidGrant({ reason: "replayed" })
})

const isLive = (now: DateTime.Utc) => ({ expiresAt }: { readonly expiresAt: DateTime.Utc }): boolean =>
  !isOver(expiresAt, now)

/** The codes within their lifetime, oldest first, and one more. */
const addCode = (codes: Grant["codes"], added: Code, limit: number, now: DateTime.Utc): Grant["codes"] =>
  [...codes.filter(isLive(now)), added].slice(-limit)

/** What the user says yes to. */
export interface Consent {
  readonly applicationId: ApplicationId
  readonly applicationEpoch: number
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
  const { applicationEpoch, applicationId, challenge, redirectUri, role, scope, state, userId } = consented
  const before = Option.getOrUndefined(existing)
  const pending: Code = {
    hash: code,
    redirectUri,
    scope,
    state,
    challenge,
    expiresAt: DateTime.addDuration(now, policy.codeLifetime),
    redeemed: false
  }
  const version = (before?.version ?? 0) + 1
  const grant: Grant = before?.status === "active"
    ? {
      ...before,
      version,
      access: AccessTokens.withoutExpired(before.access, now),
      codes: addCode(before.codes, pending, policy.maxCodes, now)
    }
    : {
      applicationId,
      userId,
      version,
      status: "active",
      role,
      scope,
      epoch: (before?.epoch ?? 0) + 1,
      applicationEpoch,
      generation: before?.generation ?? 0,
      grantedAt: now,
      refresh: Option.none(),
      access: AccessTokens.none,
      codes: [pending]
    }
  return { grant, outgoing: [] }
}

/** The part of `Secrets` that is pure. */
export type Deriving = Pick<Secrets.Service, "hash" | "keys">

/** What a client presents, with the salt for the pair that may come of it. */
export interface Presented extends Origin {
  /** The client. */
  readonly applicationId: ApplicationId
}

/** The pair of a generation of a grant. */
const derive = (key: TokenKey, origin: Origin, grant: Grant, generation: number): TokenPair =>
  key.derive(origin, Token.nameOf(grant), Token.refreshNameOf(grant, grant.epoch, generation))

// Thousands of tokens expire in the same millisecond.
const [toAccessExpiry, toRefreshExpiry] = [makeInstants(), makeInstants()]

const answer = (
  { accessToken, refreshToken }: TokenPair,
  scope: Scope,
  state: Option.Option<string>,
  createdAt: DateTime.Utc,
  policy: Policy.Service
): Tokens => ({
  accessToken,
  refreshToken,
  createdAt,
  expiresAt: toAccessExpiry(createdAt.epochMillis + Duration.toMillis(policy.accessTokenLifetime)),
  scope,
  state
})

/**
 * Issues a pair: a new access token beside the older ones, and the refresh token that replaces the current one. Every
 * field is spelt out, as this is made in every refresh: a spread with fields behind it costs thirty times as much.
 */
const issue = (
  grant: Grant,
  origin: Origin,
  { codes, scope, state }: Pick<Code, "scope" | "state"> & Pick<Grant, "codes">,
  { hash, keys }: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision => {
  const generation = grant.generation + 1
  const tokens = answer(derive(keys[0], origin, grant, generation), scope, state, now, policy)
  const access: AccessToken = {
    hash: shortened(hash(Redacted.value(tokens.accessToken))),
    scope,
    createdAt: now,
    expiresAt: tokens.expiresAt
  }
  const change: Change = {
    grant: {
      applicationId: grant.applicationId,
      userId: grant.userId,
      role: grant.role,
      scope,
      version: grant.version + 1,
      status: grant.status,
      epoch: grant.epoch,
      applicationEpoch: grant.applicationEpoch,
      generation,
      grantedAt: grant.grantedAt,
      refresh: Option.some({
        hash: hash(Redacted.value(tokens.refreshToken)),
        salt: origin.salt,
        issuedAt: now,
        expiresAt: toRefreshExpiry(now.epochMillis + Duration.toMillis(policy.refreshTokenIdle))
      }),
      access: AccessTokens.add(grant.access, access, policy.maxAccessTokens, now),
      codes: codes.filter(isLive(now))
    },
    outgoing: []
  }
  return { _tag: "Issued", change, tokens }
}

/**
 * The current pair, if an equal request produced it within this time. It is derived again. Its refresh token is the current
 * one only if the pair is the same and nobody has used it since.
 */
const repeat = (
  grant: Grant,
  origin: Origin,
  state: Option.Option<string>,
  within: Duration.Duration,
  { hash, keys }: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Option.Option<Decision> =>
  Option.flatMap(grant.refresh, (current) => {
    // Without such a time there is no repeat, not even at a node whose clock is behind the one that issued the pair.
    if (Duration.toMillis(within) === 0 || isOver(DateTime.addDuration(current.issuedAt, within), now)) {
      return Option.none()
    }
    const pairs = keys.map((key) => derive(key, { ...origin, salt: current.salt }, grant, grant.generation))
    const pair = pairs.find(({ refreshToken }) => hash(Redacted.value(refreshToken)) === current.hash)
    return Option.map(Option.fromNullable(pair), (pair): Decision => ({
      _tag: "Repeated",
      tokens: answer(pair, grant.scope, state, current.issuedAt, policy)
    }))
  })

/** A code, and what comes with it. */
export interface Redemption extends Presented {
  /** Must equal the authorized one if given. */
  readonly redirectUri: Option.Option<string>
  /** BASE64URL(SHA-256(code_verifier)). */
  readonly challenge: Option.Option<string>
}

/**
 * Exchanges a code for tokens: once, within its lifetime, by its own client, with its redirect URI and verifier
 * (RFC 6749 §4.1.3, RFC 7636 §4.6). A second use within its lifetime is a replay, unless it is a repeat with the
 * `Idempotency-Key` of the first. What binds the code is checked before that, so that a stolen code in other hands
 * revokes nothing.
 */
export const redeem = (
  grant: Grant,
  presented: Redemption,
  deriving: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision => {
  const hash = deriving.hash(Redacted.value(presented.presented))
  // Forgotten when its lifetime ends, used or not: whether a save has removed it makes no difference.
  const code = grant.codes.find((code) => code.hash === hash && !isOver(code.expiresAt, now))
  if (code === undefined) return refuse("unknown")
  if (grant.applicationId !== presented.applicationId) return refuse("mismatch")
  if (Option.isSome(presented.redirectUri) && presented.redirectUri.value !== code.redirectUri) {
    return refuse("mismatch")
  }
  if (Option.getOrNull(presented.challenge) !== Option.getOrNull(code.challenge)) return refuse("mismatch")
  if (code.redeemed) {
    const within = Option.isSome(presented.idempotencyKey) ? policy.refreshRetry : Duration.zero
    return Option.getOrElse(
      repeat(grant, presented, code.state, within, deriving, now, policy),
      () => policy.revokeOnReplay ? revokeAndRefuse(grant) : refuse("unknown")
    )
  }
  const codes = grant.codes.map((one) => one === code ? { ...one, redeemed: true } : one)
  return issue(grant, presented, { ...code, codes }, deriving, now, policy)
}

/** What a refresh token is to its grant. */
export type Standing = "current" | "replaced" | "revoked" | "unknown"

/** An older refresh token is known by its name and by the key that made it; any other by its fingerprint alone. */
export const standingOf = (
  grant: Grant,
  token: Redacted.Redacted<string>,
  { epoch, generation }: Token.RefreshName,
  { hash, keys }: Deriving
): Standing => {
  const fingerprint = hash(Redacted.value(token))
  if (Option.isSome(grant.refresh) && grant.refresh.value.hash === fingerprint) return "current"
  const isRevoked = epoch < grant.epoch || epoch === grant.epoch && grant.status === "revoked"
  const isOlder = generation < grant.generation || isRevoked && generation === grant.generation
  if (epoch > grant.epoch || !isOlder || !keys.some((key) => key.isAuthentic(token))) return "unknown"
  return isRevoked ? "revoked" : "replaced"
}

/** A refresh asks for more than was granted (RFC 6749 §6; §5.2 `invalid_scope`). Nothing has happened. */
export class ScopeExceeded extends Schema.TaggedError<ScopeExceeded>("@startlist/core/ScopeExceeded")("ScopeExceeded", {
  /** One that was not granted. */
  scope: Schema.String
}) {}

/** A refresh token, its name, and the scope asked for, if one is. */
export interface Renewal extends Presented {
  readonly name: Token.RefreshName
  readonly scope: Option.Option<Scope>
}

/**
 * Refreshes: the current refresh token is replaced, and is invalid immediately (requirements §3.2).
 *
 * A replaced one is refused, unless the request repeats the one that replaced it. If it is the immediate predecessor and
 * the rotation is younger than the grace, that is all: a client sent twice. Otherwise someone else has it, and the grant
 * is to be revoked (RFC 9700 §4.14.2).
 */
export const rotate = (
  grant: Grant,
  presented: Renewal,
  deriving: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision<ScopeExceeded> => {
  const { applicationId, idempotencyKey, name, scope } = presented
  const standing = standingOf(grant, presented.presented, name, deriving)
  // First: a made-up token must not tell one application whether a user has granted another one anything.
  if (standing === "unknown") return refuse(standing)
  if (grant.applicationId !== applicationId) return refuse("mismatch")
  if (standing === "revoked") return refuse(standing)
  const excess = Option.isSome(scope) ? scope.value.find((name) => !grant.scope.includes(name)) : undefined
  if (standing === "replaced") {
    const within = Option.isSome(idempotencyKey) ? policy.refreshRetry : policy.refreshRetryWithoutKey
    const isPrevious = name.generation === grant.generation - 1
    const repeated = isPrevious && excess === undefined
      ? repeat(grant, presented, Option.none(), within, deriving, now, policy)
      : Option.none()
    if (Option.isSome(repeated)) return repeated.value
    const sentTwice = isPrevious && Option.exists(
      grant.refresh,
      ({ issuedAt }) => !isOver(DateTime.addDuration(issuedAt, policy.replayGrace), now)
    )
    return sentTwice || !policy.revokeOnReplay ? refuse("replaced") : revokeAndRefuse(grant)
  }
  if (Option.exists(grant.refresh, ({ expiresAt }) => isOver(expiresAt, now))) return refuse("expired")
  if (excess !== undefined) return { _tag: "Refused", error: new ScopeExceeded({ scope: excess }) }
  const kept = { scope: grant.scope, state: Option.none(), codes: grant.codes }
  return issue(grant, presented, kept, deriving, now, policy)
}

/** Ends this life of the grant: every code and token of it is dead when the change is saved. */
export const revoke = (grant: Grant): Change => ({
  grant: {
    ...grant,
    version: grant.version + 1,
    status: "revoked",
    refresh: Option.none(),
    access: AccessTokens.none,
    codes: []
  },
  outgoing: []
})

/**
 * The user revokes. The application is notified of an athlete's or organizer's revocation (requirements §6.1). Other roles
 * cause no event.
 */
export const revokeByUser = (grant: Grant, origin: EventOrigin): Change => ({
  ...revoke(grant),
  outgoing: grant.role === "athlete" || grant.role === "organizer"
    ? [{
      event: {
        id: origin.id,
        aspectType: "deleted",
        objectType: grant.role,
        objectId: grant.userId,
        updates: {},
        time: origin.time,
        trace: origin.trace
      },
      audience: Audience.Application({ applicationId: grant.applicationId })
    }]
    : []
})
