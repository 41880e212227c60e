/** The three credentials of a grant. Each is stored by its fingerprint, in the epoch in which it was made. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApplicationId } from "./Application.ts"
import { type Kind, prefixes, TokenHash } from "./Secrets.ts"
import { maxId, trusted } from "./Store.ts"
import { UserId } from "./User.ts"

/** Granted scopes, in the order in which they were asked for. */
export const Scope = Schema.Array(Schema.NonEmptyString)
export type Scope = typeof Scope.Type

/** An authorization code, and what its consent was for. */
export const Code = Schema.Struct({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  redirectUri: Schema.String,
  scope: Scope,
  state: Schema.Option(Schema.String),
  /** BASE64URL(SHA-256(code_verifier)), RFC 7636 §4.2. */
  challenge: Schema.Option(Schema.String),
  expiresAt: Schema.DateTimeUtcFromSelf,
  redeemed: Schema.Boolean
})
export type Code = typeof Code.Type

export const RefreshToken = Schema.Struct({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  generation: Schema.NonNegativeInt,
  expiresAt: Schema.DateTimeUtcFromSelf
})
export type RefreshToken = typeof RefreshToken.Type

export const AccessToken = Schema.Struct({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  scope: Scope,
  createdAt: Schema.DateTimeUtcFromSelf,
  expiresAt: Schema.DateTimeUtcFromSelf
})
export type AccessToken = typeof AccessToken.Type

/** A pair of tokens in clear, at the only moment at which that exists (requirements §2.2), and the granted scope. */
export interface Tokens {
  readonly accessToken: Redacted.Redacted<string>
  readonly refreshToken: Redacted.Redacted<string>
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
  readonly scope: Scope
}

/**
 * The grant that a code or token belongs to, and the place of a refresh token in its chain. Each code and token tells it
 * in clear behind the prefix of its kind, in decimal numbers: `sl_at_7_42_…`, `sl_rt_7_42_1_12_…`.
 */
export interface Name {
  readonly applicationId: ApplicationId
  readonly userId: UserId
}

/** The name of an access token or code, as text. */
export const nameOf = ({ applicationId, userId }: Name): string => `${applicationId}_${userId}_`

/** The name of a refresh token, as text. */
export const chainNameOf = (name: Name, epoch: number, generation: number): string =>
  `${nameOf(name)}${epoch}_${generation}_`

const form = (kind: Kind, numbers: number): RegExp =>
  new RegExp(`^${prefixes[kind]}${"(0|[1-9]\\d{0,15})_".repeat(numbers)}[\\w-]+$`)

const forms = { access: form("access", 2), code: form("code", 2), refresh: form("refresh", 4) }

const isId = (id: number): boolean => id >= 1 && id <= maxId

/** What a text names if it has the form of this kind. Any other text is no code or token, and no store is asked for it. */
export const parse = (kind: keyof typeof forms, text: Redacted.Redacted<string>): Option.Option<Name> => {
  const found = forms[kind].exec(Redacted.value(text))
  if (found === null) return Option.none()
  const [applicationId, userId] = [Number(found[1]), Number(found[2])]
  return isId(applicationId) && isId(userId)
    ? Option.some({ applicationId: trusted(ApplicationId, applicationId), userId: trusted(UserId, userId) })
    : Option.none()
}

/** Whether the time is over. At the very instant it is. */
export const isOver = (expiresAt: DateTime.Utc, now: DateTime.Utc): boolean => now.epochMillis >= expiresAt.epochMillis
