/** Secrets over the hash functions of a runtime: drawn at random, or derived from a master key, alike on all runtimes. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import {
  allKeyBytes,
  type Fingerprint,
  type InvalidKey,
  type MasterKeys,
  prefixes,
  type Secrets,
  type TokenKey
} from "@startlist/core/Secrets"

/** 256 bits. */
export const size = 32
const saltSize = 16

/** Random bytes and hash functions of a runtime. */
export interface Runtime {
  /** This number of random bytes. */
  readonly drawBytes: (count: number) => Uint8Array
  /** The same in base64url. */
  readonly draw: (count: number) => string
  /** SHA-256 in base64url. */
  readonly hash: (text: string) => Fingerprint
  /** HMAC-SHA-256 in base64url, under a key of 32 bytes that HKDF (RFC 5869, no salt) derives for this information. */
  readonly hmacFor: (master: Uint8Array, info: string) => (text: string) => string
  /** Whether two texts are equal, in a time that does not depend on where they differ. */
  readonly isSame: (one: string, other: string) => boolean
}

/** With the master keys of an installation. */
export const fromKeys = (
  runtime: Runtime,
  keys: MasterKeys
): Either.Either<Secrets.Service, InvalidKey> =>
  Either.map(allKeyBytes(keys), ([first, ...others]) => make(runtime, first, others))

/** With a random key. */
export const withDrawnKey = (runtime: Runtime): Secrets.Service => make(runtime, runtime.drawBytes(size), [])

const make = (
  runtime: Runtime,
  present: Uint8Array,
  retired: ReadonlyArray<Uint8Array>
): Secrets.Service => ({
  make: (kind, name = "") => Effect.sync(() => Redacted.make(prefixes[kind] + name + runtime.draw(size))),
  makeSalt: Effect.sync(() => runtime.draw(saltSize)),
  makeSigning: Effect.sync(() => Redacted.make(`whsec_${Encoding.encodeBase64(runtime.drawBytes(size))}`)),
  hash: runtime.hash,
  keys: [makeKey(runtime, present), ...retired.map((master) => makeKey(runtime, master))]
})

/** Length in base64url: 16 bytes, because a forged tag can only end a grant. */
const tagLength = 22

/** One HKDF of the master key for each purpose. */
const makeKey = ({ hmacFor, isSame }: Runtime, master: Uint8Array): TokenKey => {
  const deriveAccess = hmacFor(master, "startlist access token")
  const deriveRefresh = hmacFor(master, "startlist refresh token")
  const authenticate = hmacFor(master, "startlist refresh token tag")
  const mac = hmacFor(master, "startlist authentication code")
  const deriveClient = hmacFor(master, "startlist client secret")
  const tagOf = (text: string): string => authenticate(text).slice(0, tagLength)

  return {
    // No part of the origin contains a line break, so no two origins have the same text.
    derive: ({ idempotencyKey, presented, salt }, accessName, refreshName) => {
      const key = Option.isSome(idempotencyKey) ? idempotencyKey.value : ""
      const origin = `${Redacted.value(presented)}\n${salt}\n${key}\n${refreshName}`
      const refresh = prefixes.refresh + refreshName + deriveRefresh(origin)
      return {
        accessToken: Redacted.make(prefixes.access + accessName + deriveAccess(origin)),
        refreshToken: Redacted.make(refresh + tagOf(refresh))
      }
    },
    mac,
    deriveSecret: (origin) => Redacted.make(prefixes.client + deriveClient(origin)),
    isAuthentic: (refreshToken) => {
      const text = Redacted.value(refreshToken)
      return text.length >= tagLength && isSame(tagOf(text.slice(0, -tagLength)), text.slice(-tagLength))
    }
  }
}
