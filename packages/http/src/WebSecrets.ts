/**
 * Secrets from Web Crypto, and tokens derived from the master key with `@noble/hashes`, for runtimes without
 * `node:crypto`. With the same key, its tokens are those of `NodeSecrets`, which is faster.
 */
import { hkdf } from "@noble/hashes/hkdf.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as MasterKey from "@startlist/core/MasterKey"
import { Fingerprint, prefixes, Secrets, type TokenKey } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { makeTokenKey } from "./internal/tokenKey.ts"

/** 256 bits. */
const size = 32
const saltSize = 16

const utf8 = new TextEncoder()

const drawBytes = (count: number): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(count))

const draw = (count: number): string => Encoding.encodeBase64Url(drawBytes(count))

/** Compares every character, so that the time does not reveal the first difference. */
const isSame = (one: string, other: string): boolean => {
  let difference = one.length ^ other.length
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i)
  return difference === 0
}

const makeHmac = (key: Uint8Array) => {
  // Computed once, because it depends only on the key.
  const keyed = hmac.create(sha256, key)
  return (text: string): string => Encoding.encodeBase64Url(keyed.clone().update(utf8.encode(text)).digest())
}

const makeKey = (master: Uint8Array): TokenKey =>
  makeTokenKey({ hmacFor: (info) => makeHmac(hkdf(sha256, master, undefined, utf8.encode(info), size)), isSame })

const make = (keys: readonly [TokenKey, ...ReadonlyArray<TokenKey>]): Secrets.Service => ({
  make: (kind, name = "") => Effect.sync(() => Redacted.make(prefixes[kind] + name + draw(size))),
  makeSalt: Effect.sync(() => draw(saltSize)),
  makeSigning: Effect.sync(() => Redacted.make(`whsec_${Encoding.encodeBase64(drawBytes(size))}`)),
  hash: (value) => unsafeBrand(Fingerprint, Encoding.encodeBase64Url(sha256(utf8.encode(value)))),
  keys
})

/** With the master key of the installation: the same on every node, and the one that seals signing secrets. */
export const layerWith = (keys: MasterKey.MasterKeys): Layer.Layer<Secrets, MasterKey.InvalidKey> =>
  Layer.effect(
    Secrets,
    Either.map(MasterKey.allBytes(keys), ([first, ...others]) => make([makeKey(first), ...others.map(makeKey)]))
  )

/** With a random key, for one process and stores in memory: see `NodeSecrets.layerDrawn`. */
export const layerDrawn: Layer.Layer<Secrets> = Layer.sync(Secrets, () => make([makeKey(drawBytes(size))]))
