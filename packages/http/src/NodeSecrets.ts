/** Secrets from the operating system, and tokens derived from the master key, by `node:crypto`. */
import { Buffer } from "node:buffer"
import { createHmac, hash, hkdfSync, randomBytes, randomFillSync, timingSafeEqual } from "node:crypto"
import * as Layer from "effect/Layer"
import { Fingerprint, type InvalidKey, type MasterKeys, Secrets } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { fromKeys, type Runtime, size, withDrawnKey } from "./internal/secrets.ts"

/** With the master key of the installation: the same on every node, and the one that seals signing secrets. */
export const layerWith = (keys: MasterKeys): Layer.Layer<Secrets, InvalidKey> =>
  Layer.suspend(() => Layer.effect(Secrets, fromKeys(makeRuntime(), keys)))

/**
 * With a random key, for one process and stores in memory. After a restart, and on other nodes, replaced refresh tokens
 * are unknown instead of replayed, and repeated requests are refused.
 */
export const layerDrawn: Layer.Layer<Secrets> = Layer.sync(Secrets, () => withDrawnKey(makeRuntime()))

const makeRuntime = (): Runtime => ({
  drawBytes: randomBytes,
  draw: makePool(128 * size),
  hash: (text) => unsafeBrand(Fingerprint, hash("sha256", text, "base64url")),
  hmacFor: (master, info) => makeHmac(new Uint8Array(hkdfSync("sha256", master, "", info, size))),
  // A tag that is not ASCII has more bytes, and is invalid.
  isSame: (one, other) => {
    const bytes = Buffer.from(other)
    return bytes.length === one.length && timingSafeEqual(Buffer.from(one), bytes)
  }
})

/** Draws random bytes in bulk, since a system call costs more than the bytes. Used bytes are wiped. */
const makePool = (bytes: number) => {
  const pool = Buffer.alloc(bytes)
  let next = pool.length
  return (count: number): string => {
    if (next + count > pool.length) {
      randomFillSync(pool)
      next = 0
    }
    const value = pool.toString("base64url", next, next + count)
    pool.fill(0, next, next + count)
    next += count
    return value
  }
}

const blockSize = 64
const digestSize = 32

/** Maximum length of a text that fits into the buffer, in characters. */
const maxLength = 1024

/**
 * The HMAC-SHA-256 (RFC 2104) of texts under a key of at most 64 bytes, in base64url. With two one-shot hashes: takes half
 * the time of `createHmac`, without garbage.
 */
const makeHmac = (key: Uint8Array): (text: string) => string => {
  const padded = (pad: number): Uint8Array =>
    Uint8Array.from({ length: blockSize }, (_, place) => (key[place] ?? 0) ^ pad)
  const inner = Buffer.concat([padded(0x36), Buffer.alloc(3 * maxLength)])
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(digestSize)])
  return (text) => {
    if (text.length > maxLength) return createHmac("sha256", key).update(text).digest("base64url")
    const length = inner.write(text, blockSize, "utf8")
    outer.write(hash("sha256", inner.subarray(0, blockSize + length), "binary"), blockSize, "binary")
    return hash("sha256", outer, "base64url")
  }
}
