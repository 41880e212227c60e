/** The three credentials of a grant, each stored as a fingerprint, and the names in them. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApplicationId } from "./Application.ts"
import { Fingerprint, prefixes, type TokenPair } from "./Secrets.ts"
import { maxId, unsafeBrand } from "./Store.ts"
import { UserId } from "./User.ts"

/** Granted scopes in the requested order. Each is a scope-token of RFC 6749 §3.3. */
export const Scope = Schema.Array(Schema.String.pipe(Schema.pattern(/^[!#-[\]-~]+$/)))
export type Scope = typeof Scope.Type

/** An authorization code with its request. */
export const Code = Schema.Struct({
  hash: Fingerprint,
  redirectUri: Schema.String,
  scope: Scope,
  state: Schema.OptionFromNullOr(Schema.String),
  /** BASE64URL(SHA-256(code_verifier)), RFC 7636 §4.2. */
  challenge: Schema.OptionFromNullOr(Schema.String),
  expiresAt: Schema.DateTimeUtcFromNumber,
  /** When the code was exchanged, and the generation with which its line began. */
  redeemed: Schema.OptionFromNullOr(Schema.Struct({ at: Schema.DateTimeUtcFromNumber, line: Schema.NonNegativeInt }))
})
export type Code = typeof Code.Type

/** The current refresh token of a grant. */
export const RefreshToken = Schema.Struct({
  /** `Secrets.shortened`. */
  hash: Fingerprint,
  /** The salt of its derivation (`Secrets.Origin`). */
  salt: Schema.String.pipe(Schema.pattern(/^\S+$/)),
  issuedAt: Schema.DateTimeUtcFromNumber,
  expiresAt: Schema.DateTimeUtcFromNumber
})
export type RefreshToken = typeof RefreshToken.Type

/** An access token of a grant. */
export const AccessToken = Schema.Struct({
  /** `Secrets.shortened`. */
  hash: Fingerprint,
  scope: Scope,
  createdAt: Schema.DateTimeUtcFromNumber,
  expiresAt: Schema.DateTimeUtcFromNumber
})
export type AccessToken = typeof AccessToken.Type

/** The answer to a code or refresh token (requirements §2.2). Only this answer has the pair in clear. */
export interface TokenAnswer extends TokenPair, Omit<AccessToken, "hash"> {
  /** The `state` of the authorization request. A refresh has none. */
  readonly state: Option.Option<string>
}

/** The name of a grant. A code or token has it in clear after its prefix, in decimal numbers: `sl_at_7_42_…`. */
export interface Name {
  readonly applicationId: ApplicationId
  readonly userId: UserId
}

/** The name in a refresh token, which also has its epoch and generation: `sl_rt_7_42_1_12_…`. */
export interface RefreshName extends Name {
  readonly epoch: number
  readonly generation: number
  /** Whether an import named the token (`ImportStore`), so that no key of ours has made it. Default: false. */
  readonly isImported?: boolean
}

/** The name in an access token or code, as text. */
export const nameOf = ({ applicationId, userId }: Name): string => `${applicationId}_${userId}_`

/** The name in a refresh token, as text. */
export const refreshNameOf = (name: Name, epoch: number, generation: number): string =>
  `${nameOf(name)}${epoch}_${generation}_`

const form = (kind: keyof typeof prefixes, numbers: number): RegExp =>
  new RegExp(`^${prefixes[kind]}${"(0|[1-9]\\d{0,15})_".repeat(numbers)}[\\w-]+$`)

const forms = { access: form("access", 2), code: form("code", 2), refresh: form("refresh", 4) }

const isId = (id: number): boolean => id >= 1 && id <= maxId

const named = (found: RegExpExecArray | null): Option.Option<RefreshName> => {
  if (found === null) return Option.none()
  const [applicationId, userId] = [Number(found[1]), Number(found[2])]
  if (!isId(applicationId) || !isId(userId)) return Option.none()
  return Option.some({
    applicationId: unsafeBrand(ApplicationId, applicationId),
    userId: unsafeBrand(UserId, userId),
    epoch: Number(found[3]),
    generation: Number(found[4])
  })
}

/** The name in a code or access token. None for a text of another form, which never reaches a store. */
export const parse = (kind: "access" | "code", text: Redacted.Redacted<string>): Option.Option<Name> =>
  named(forms[kind].exec(Redacted.value(text)))

/** The name in a refresh token. None for a text of another form. */
export const parseRefresh = (text: Redacted.Redacted<string>): Option.Option<RefreshName> =>
  named(forms.refresh.exec(Redacted.value(text)))

/** Whether `now` is at or after `expiresAt`. */
export const isOver = (expiresAt: DateTime.Utc, now: DateTime.Utc): boolean => now.epochMillis >= expiresAt.epochMillis
