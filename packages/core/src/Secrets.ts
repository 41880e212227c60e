/**
 * Unguessable values, their fingerprints, and the master keys from which keys are derived. Not Effect's `Random`, which tests
 * can seed.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { unsafeBrand } from "./Store.ts"

/** The fingerprint under which a token, code or client secret is stored: BASE64URL(SHA-256(value)), 43 characters. */
export const Fingerprint = Schema.String.pipe(Schema.pattern(/^\S+$/), Schema.brand("@startlist/Fingerprint"))
export type Fingerprint = typeof Fingerprint.Type

/** The first 128 bits of a fingerprint, enough for a value of 256 bits: every refresh writes two of them. */
export const shortened = (hash: Fingerprint): Fingerprint => unsafeBrand(Fingerprint, hash.slice(0, 22))

/** Each kind has its own prefix, so that scanners find leaked credentials. */
export const prefixes = {
  access: "sl_at_",
  refresh: "sl_rt_",
  code: "sl_ac_",
  client: "sl_cs_",
  challenge: "",
  claim: "",
  event: "evt_"
} as const

/** The kinds of secrets that are drawn at random. Access and refresh tokens are derived instead. */
export type Kind = Exclude<keyof typeof prefixes, "access" | "refresh">

/** The input from which a pair of tokens is derived. */
export interface Origin {
  /** The code or refresh token that is exchanged for the pair. */
  readonly presented: Redacted.Redacted<string>
  /** Drawn for this pair, and stored in the grant. */
  readonly salt: string
  /** The client's `Idempotency-Key`. */
  readonly idempotencyKey: Option.Option<string>
}

/** An access token and a refresh token in clear. */
export interface TokenPair {
  readonly accessToken: Redacted.Redacted<string>
  readonly refreshToken: Redacted.Redacted<string>
}

/** A key of the service. It is the same on every node, and not in the database. */
export interface TokenKey {
  /**
   * Derives the pair of an origin, always the same: prefix, name (`Token.nameOf`) and at least 256 bits in base64url.
   * Without the presented credential, nobody can, not even with the key and the database.
   */
  readonly derive: (origin: Origin, accessName: string, refreshName: string) => TokenPair
  /** The client secret of an origin: the same one each time, which nobody can guess without the key. */
  readonly deriveSecret: (origin: string) => Redacted.Redacted<string>
  /** An authentication code of a text, at least 256 bits in base64url: the same each time, which nobody else can make. */
  readonly mac: (text: string) => string
  /** Whether this key derived a refresh token, at any time. */
  readonly isAuthentic: (refreshToken: Redacted.Redacted<string>) => boolean
}

/** Source of secrets. */
export class Secrets extends Context.Tag("@startlist/core/Secrets")<Secrets, Secrets.Service>() {}

export declare namespace Secrets {
  export interface Service {
    /** Makes a random value: the prefix of its kind, a name if given, and at least 256 bits in base64url. */
    readonly make: (kind: Kind, name?: string) => Effect.Effect<Redacted.Redacted<string>>
    /** Makes a random value that is not secret: at least 128 bits in base64url. */
    readonly makeSalt: Effect.Effect<string>
    /** Makes a webhook signing secret: `whsec_` and 32 bytes in standard base64 (Standard Webhooks). */
    readonly makeSigning: Effect.Effect<Redacted.Redacted<string>>
    /** BASE64URL(SHA-256(value)): the stored form of a secret, and the S256 transformation of RFC 7636 §4.2. */
    readonly hash: (value: string) => Fingerprint
    /** The first key derives new tokens. Tokens of the other keys are still accepted. */
    readonly keys: readonly [TokenKey, ...ReadonlyArray<TokenKey>]
  }
}

/** A master key is not 32 bytes in base64. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>()("@startlist/core/InvalidKey", {}) {
  override get message(): string {
    return "a master key is 32 bytes in base64"
  }
}

/**
 * The keys of an installation, the same on every node, from which all other keys are derived. Each has 32 bytes, in base64 or
 * base64url.
 */
export interface MasterKeys {
  /** The present key. */
  readonly key: Redacted.Redacted<string>
  /** Previous keys. Values that were made with them stay valid. */
  readonly retired?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

/** The 32 bytes of a master key. White space around it is ignored. */
export const keyBytes = (key: Redacted.Redacted<string>): Either.Either<Uint8Array, InvalidKey> => {
  const text = Redacted.value(key).trim().replaceAll("+", "-").replaceAll("/", "_").replace(/={1,2}$/, "")
  return Encoding.decodeBase64Url(text).pipe(
    Either.mapLeft(() => new InvalidKey()),
    Either.filterOrLeft((bytes) => bytes.length === 32, () => new InvalidKey())
  )
}

/** The bytes of all master keys, the present one first. */
export const allKeyBytes = (
  { key, retired = [] }: MasterKeys
): Either.Either<readonly [Uint8Array, ...ReadonlyArray<Uint8Array>], InvalidKey> =>
  Either.all([keyBytes(key), Either.all(retired.map(keyBytes))]).pipe(
    Either.map(([present, others]) => [present, ...others])
  )
