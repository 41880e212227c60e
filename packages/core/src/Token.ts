/** The three credentials of a grant. Each is stored by its fingerprint, in the epoch in which it was made. */
import type * as DateTime from "effect/DateTime"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TokenHash } from "./Secrets.ts"

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

/** Whether the time is over. At the very instant it is. */
export const isOver = (expiresAt: DateTime.Utc, now: DateTime.Utc): boolean => now.epochMillis >= expiresAt.epochMillis
