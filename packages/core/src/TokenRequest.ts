/**
 * The exchange of a code and the refresh (requirements §4.2 and §4.3), as pure decisions about a grant. The first
 * request issues a pair, its repeat derives the same pair again, and every other second use is refused.
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type Change, type Grant, isLive, revokeLine, withoutExpired } from "./Grant.ts"
import { makeInstants } from "./internal/runtime.ts"
import type { Policy } from "./Policy.ts"
import { type Origin, type Secrets, shortened, type TokenKey, type TokenPair } from "./Secrets.ts"
import type { ApplicationId } from "./Application.ts"
import * as Token from "./Token.ts"
import { type AccessToken, type Code, isOver, type Scope, type TokenAnswer } from "./Token.ts"

/**
 * A code or refresh token is refused.
 *
 * - `unknown` (a code also when it has expired), `expired`, `mismatch` (another client's, or the wrong redirect URI or
 *   verifier), `revoked` (the grant of the refresh token), `scopeless` (none of its scopes exists any more).
 * - `used`: the code was exchanged before.
 * - `replaced`: a later refresh of the same line replaced the refresh token.
 * - `superseded`: the refresh token is of an earlier line: the user has connected the application again since.
 * - `ended`: a replay has ended the line of the refresh token, and the user has not connected again since.
 * - `replayed`: a used code or older token that has revoked its line (`Policy.replay`). No other reason has a side effect.
 */
export class InvalidGrant extends Schema.TaggedError<InvalidGrant>()("@startlist/core/InvalidGrant", {
  reason: Schema.Literal(
    "unknown",
    "expired",
    "mismatch",
    "scopeless",
    "used",
    "replaced",
    "superseded",
    "ended",
    "replayed",
    "revoked"
  )
}) {}

/** Decision about a presented code or refresh token. */
export type Decision<E = never> =
  /** A new pair, which is valid once the change is saved. */
  | { readonly _tag: "Issued"; readonly change: Change; readonly tokens: TokenAnswer }
  /** The same answer as to the first of several equal requests. Nothing changes. */
  | { readonly _tag: "Repeated"; readonly tokens: TokenAnswer }
  | { readonly _tag: "Refused"; readonly error: E | InvalidGrant }
  /** A used code or an older refresh token, which is refused once its line is revoked, if it must be. */
  | { readonly _tag: "Replayed"; readonly error: InvalidGrant; readonly revocation: Option.Option<Change> }

const refuse = (reason: InvalidGrant["reason"]): Decision => ({ _tag: "Refused", error: new InvalidGrant({ reason }) })

/** Refuses a used code or an older refresh token, and revokes the present line if it `mayBeStolen` from that. */
const refuseReplay = (
  grant: Grant,
  reason: InvalidGrant["reason"],
  mayBeStolen: boolean,
  policy: Policy.Service
): Decision =>
  mayBeStolen && policy.replay === "revoke"
    ? { _tag: "Replayed", error: new InvalidGrant({ reason: "replayed" }), revocation: Option.some(revokeLine(grant)) }
    : { _tag: "Replayed", error: new InvalidGrant({ reason }), revocation: Option.none() }

/** Whether the first use of a credential was so recent that the second one is a client's double send. */
const isSentTwice = (firstUse: DateTime.Utc, now: DateTime.Utc, { replayGrace }: Policy.Service): boolean =>
  !isOver(DateTime.addDuration(firstUse, replayGrace), now)

/** The pure part of `Secrets`. */
export type Deriving = Pick<Secrets.Service, "hash" | "keys">

/** A credential that a client presents, with the salt for a new pair. */
export interface PresentedToken extends Origin {
  /** The client. */
  readonly applicationId: ApplicationId
}

/** Derives the pair of a generation of a grant. */
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
): TokenAnswer => ({
  accessToken,
  refreshToken,
  createdAt,
  expiresAt: toAccessExpiry(createdAt.epochMillis + Duration.toMillis(policy.accessTokenLifetime)),
  scope,
  state
})

/**
 * Issues a pair: an access token beside the older ones, and the next refresh token. Spells out every field: a spread
 * with fields after it takes thirty times as long, and every refresh runs this.
 */
const issue = (
  grant: Grant,
  origin: Origin,
  { codes, lineStart, scope: consented, state }: Pick<Code, "scope" | "state"> & Pick<Grant, "codes" | "lineStart">,
  { hash, keys }: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision => {
  const scope = consented.filter((name) => policy.scopes.includes(name))
  if (scope.length === 0) return refuse("scopeless")
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
      lineStart,
      grantedAt: grant.grantedAt,
      refresh: Option.some({
        hash: shortened(hash(Redacted.value(tokens.refreshToken))),
        salt: origin.salt,
        issuedAt: now,
        expiresAt: toRefreshExpiry(now.epochMillis + Duration.toMillis(policy.refreshTokenIdle))
      }),
      access: [...withoutExpired(grant.access, now), access].slice(-policy.maxAccessTokens),
      codes: codes.filter(isLive(now))
    },
    outgoing: []
  }
  return { _tag: "Issued", change, tokens }
}

/**
 * Derives the current pair again, if an equal request produced it within this time. Its refresh token is the current
 * one only if the pair is the same and was not used since.
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
    // If the time is zero, there is no repeat, also at a node whose clock is behind that of the issuing node.
    if (Duration.toMillis(within) === 0 || isOver(DateTime.addDuration(current.issuedAt, within), now)) {
      return Option.none()
    }
    const pairs = keys.map((key) => derive(key, { ...origin, salt: current.salt }, grant, grant.generation))
    const pair = pairs.find(({ refreshToken }) => shortened(hash(Redacted.value(refreshToken))) === current.hash)
    return Option.map(Option.fromNullable(pair), (pair): Decision => ({
      _tag: "Repeated",
      tokens: answer(pair, grant.scope, state, current.issuedAt, policy)
    }))
  })

/** A code, its redirect URI and its challenge. */
export interface Redemption extends PresentedToken {
  /** Must equal the authorized one if given. */
  readonly redirectUri: Option.Option<string>
  /** BASE64URL(SHA-256(code_verifier)). */
  readonly challenge: Option.Option<string>
}

/**
 * Exchanges a code for a new line of tokens: once, in time, by its own client, with its redirect URI and verifier (RFC
 * 6749 §4.1.3, RFC 7636 §4.6). Checks these first, so that a stolen code in other hands revokes nothing.
 */
export const redeem = (
  grant: Grant,
  presented: Redemption,
  deriving: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision => {
  const hash = deriving.hash(Redacted.value(presented.presented))
  // Ignore an expired code, used or not: the result must not depend on whether a save has removed it.
  const code = grant.codes.find((code) => code.hash === hash && !isOver(code.expiresAt, now))
  if (code === undefined) return refuse("unknown")
  if (grant.applicationId !== presented.applicationId) return refuse("mismatch")
  if (Option.isSome(presented.redirectUri) && presented.redirectUri.value !== code.redirectUri) {
    return refuse("mismatch")
  }
  if (Option.getOrNull(presented.challenge) !== Option.getOrNull(code.challenge)) return refuse("mismatch")
  if (Option.isSome(code.redeemed)) {
    const { at, line } = code.redeemed.value
    const within = Option.isSome(presented.idempotencyKey) ? policy.refreshRetry : Duration.zero
    return Option.getOrElse(
      repeat(grant, presented, code.state, within, deriving, now, policy),
      () => refuseReplay(grant, "used", line === grant.lineStart && !isSentTwice(at, now, policy), policy)
    )
  }
  const lineStart = grant.generation + 1
  const redeemed = Option.some({ line: lineStart, at: now })
  const codes = grant.codes.map((one) => one === code ? { ...one, redeemed } : one)
  return issue(grant, presented, { ...code, codes, lineStart }, deriving, now, policy)
}

/** State of a refresh token in its grant. `superseded`: its line is not the present one. `ended`: there is no line. */
export type RefreshTokenState = "current" | "replaced" | "superseded" | "ended" | "revoked" | "unknown"

/** Recognises an older refresh token by its name and the key that made it, the current one by its fingerprint. */
export const refreshTokenStateOf = (
  grant: Grant,
  token: Redacted.Redacted<string>,
  { epoch, generation, isImported = false }: Token.RefreshName,
  { hash, keys }: Deriving
): RefreshTokenState => {
  if (Option.getOrNull(grant.refresh)?.hash === shortened(hash(Redacted.value(token)))) return "current"
  const isOlder = generation < grant.generation || generation === grant.generation && Option.isNone(grant.refresh)
  const isAuthentic = isImported || keys.some((key) => key.isAuthentic(token))
  if (epoch > grant.epoch || !isOlder || !isAuthentic) return "unknown"
  if (epoch < grant.epoch || grant.status === "revoked") return "revoked"
  if (Option.isNone(grant.refresh)) return "ended"
  return generation < grant.lineStart ? "superseded" : "replaced"
}

/** A refresh asks for more than was granted (RFC 6749 §6; §5.2 `invalid_scope`). Nothing has changed. */
export class ScopeExceeded extends Schema.TaggedError<ScopeExceeded>()("@startlist/core/ScopeExceeded", {
  /** A scope that was not granted. */
  scope: Schema.String
}) {}

/** A refresh token, its name, and the requested scope, if any. */
export interface Renewal extends PresentedToken {
  readonly name: Token.RefreshName
  readonly scope: Option.Option<Scope>
}

/**
 * Replaces the current refresh token, which is invalid immediately (requirements §3.2). An older one is refused, unless
 * it repeats its request. One of the present line may be stolen, unless it was sent twice within the grace.
 */
export const rotate = (
  grant: Grant,
  presented: Renewal,
  deriving: Deriving,
  now: DateTime.Utc,
  policy: Policy.Service
): Decision<ScopeExceeded> => {
  const { applicationId, idempotencyKey, name, scope } = presented
  const state = refreshTokenStateOf(grant, presented.presented, name, deriving)
  // First: an invented token must not reveal whether the user has a grant to another application.
  if (state === "unknown") return refuse(state)
  if (grant.applicationId !== applicationId) return refuse("mismatch")
  if (state === "revoked") return refuse(state)
  if (state === "superseded" || state === "ended") return refuseReplay(grant, state, false, policy)
  const excess = Option.isSome(scope) ? scope.value.find((name) => !grant.scope.includes(name)) : undefined
  if (state === "replaced") {
    const within = Option.isSome(idempotencyKey) ? policy.refreshRetry : policy.refreshRetryWithoutKey
    const isPrevious = name.generation === grant.generation - 1
    const repeated = isPrevious && excess === undefined
      ? repeat(grant, presented, Option.none(), within, deriving, now, policy)
      : Option.none()
    if (Option.isSome(repeated)) return repeated.value
    const sentTwice = isPrevious && Option.exists(grant.refresh, ({ issuedAt }) => isSentTwice(issuedAt, now, policy))
    return refuseReplay(grant, state, !sentTwice, policy)
  }
  if (Option.exists(grant.refresh, ({ expiresAt }) => isOver(expiresAt, now))) return refuse("expired")
  if (excess !== undefined) return { _tag: "Refused", error: new ScopeExceeded({ scope: excess }) }
  const kept = { scope: grant.scope, state: Option.none(), codes: grant.codes, lineStart: grant.lineStart }
  return issue(grant, presented, kept, deriving, now, policy)
}
