/** Secrets from the operating system, and tokens derived from the master key, by `node:crypto`. */
import { Buffer } from "node:buffer"
import { hash, hkdfSync, randomBytes, randomFillSync, timingSafeEqual } from "node:crypto"
import * as Either from "effect/Either"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as MasterKey from "@startlist/core/MasterKey"
import { Fingerprint, prefixes, Secrets, type TokenKey } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { makeHmac } from "./internal/hmac.ts"
import { makeTokenKey } from "./internal/tokenKey.ts"

/** 256 bits. */
const size = 32
const saltSize = 16

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

/** One HKDF (RFC 5869) of the master key for each purpose. A tag that is not ASCII has more bytes, and is invalid. */
const makeKey = (master: Uint8Array): TokenKey =>
  makeTokenKey({
    hmacFor: (info) => makeHmac(new Uint8Array(hkdfSync("sha256", master, "", info, size))),
    isSame: (one, other) => {
      const bytes = Buffer.from(other)
      return bytes.length === one.length && timingSafeEqual(Buffer.from(one), bytes)
    }
  })

const make = (keys: readonly [TokenKey, ...ReadonlyArray<TokenKey>]): Secrets.Service => {
  const draw = makePool(128 * size)
  return {
    make: (kind, name = "") => Effect.sync(() => Redacted.make(prefixes[kind] + name + draw(size))),
    makeSalt: Effect.sync(() => draw(saltSize)),
    makeSigning: Effect.sync(() => Redacted.make(`whsec_${randomBytes(size).toString("base64")}`)),
    hash: (value) => unsafeBrand(Fingerprint, hash("sha256", value, "base64url")),
    keys
  }
}

/** With the master key of the installation: the same on every node, and the one that seals signing secrets. */
export const layerWith = (keys: MasterKey.MasterKeys): Layer.Layer<Secrets, MasterKey.InvalidKey> =>
  Layer.effect(
    Secrets,
    Either.map(MasterKey.allBytes(keys), ([first, ...others]) => make([makeKey(first), ...others.map(makeKey)]))
  )

/**
 * With a random key, for one process and stores in memory. After a restart, and on other nodes, replaced refresh tokens
 * are unknown instead of replayed, and repeated requests are refused.
 */
export const layerDrawn: Layer.Layer<Secrets> = Layer.sync(Secrets, () => make([makeKey(randomBytes(size))]))
