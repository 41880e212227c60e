/** The three credentials of a grant. Each is stored by its fingerprint, in the epoch in which it was made. */
import * as Schema from "effect/Schema"
import { TokenHash } from "./Secrets.ts"

/** Granted scopes, in the order in which they were asked for. */
export const Scope = Schema.Array(Schema.NonEmptyString)
export type Scope = typeof Scope.Type

/** An authorization code, and what its consent was for. */
export class Code extends Schema.Class<Code>("@startlist/core/Code")({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  redirectUri: Schema.String,
  scope: Scope,
  state: Schema.Option(Schema.String),
  /** BASE64URL(SHA-256(code_verifier)), RFC 7636 §4.2. */
  challenge: Schema.Option(Schema.String),
  expiresAt: Schema.DateTimeUtcFromSelf,
  redeemed: Schema.Boolean
}) {}

export class RefreshToken extends Schema.Class<RefreshToken>("@startlist/core/RefreshToken")({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  generation: Schema.NonNegativeInt,
  expiresAt: Schema.DateTimeUtcFromSelf
}) {}

export class AccessToken extends Schema.Class<AccessToken>("@startlist/core/AccessToken")({
  hash: TokenHash,
  epoch: Schema.NonNegativeInt,
  scope: Scope,
  createdAt: Schema.DateTimeUtcFromSelf,
  expiresAt: Schema.DateTimeUtcFromSelf
}) {}
