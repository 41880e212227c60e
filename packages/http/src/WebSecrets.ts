/**
 * Secrets from Web Crypto, and tokens derived from the master key with `@noble/hashes`, for runtimes without
 * `node:crypto`. With the same key, its tokens are those of `NodeSecrets`, which is faster.
 */
import { hkdf } from "@noble/hashes/hkdf.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Encoding from "effect/Encoding"
import * as Layer from "effect/Layer"
import { Fingerprint, type InvalidKey, type MasterKeys, Secrets } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { fromKeys, type Runtime, size, withDrawnKey } from "./internal/secrets.ts"

const utf8 = new TextEncoder()

const drawBytes = (count: number): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(count))

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

const runtime: Runtime = {
  drawBytes,
  draw: (count) => Encoding.encodeBase64Url(drawBytes(count)),
  hash: (text) => unsafeBrand(Fingerprint, Encoding.encodeBase64Url(sha256(utf8.encode(text)))),
  hmacFor: (master, info) => makeHmac(hkdf(sha256, master, undefined, utf8.encode(info), size)),
  isSame
}

/** With the master key of the installation: the same on every node, and the one that seals signing secrets. */
export const layerWith = (keys: MasterKeys): Layer.Layer<Secrets, InvalidKey> =>
  Layer.effect(Secrets, fromKeys(runtime, keys))

/** With a random key, for one process and stores in memory: see `NodeSecrets.layerDrawn`. */
export const layerDrawn: Layer.Layer<Secrets> = Layer.sync(Secrets, () => withDrawnKey(runtime))
