/** Secrets from the operating system, by `node:crypto`. */
import { Buffer } from "node:buffer"
import { hash, randomBytes, randomFillSync } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { prefixes, Secrets, TokenHash } from "@startlist/core/Secrets"
import { trusted } from "@startlist/core/Store"

/** 256 bits. */
const size = 32

/** Random bytes are drawn in bulk (a system call costs more than the bytes), and wiped as they are handed out. */
const makePool = (secrets: number) => {
  const pool = Buffer.alloc(size * secrets)
  let next = pool.length
  return (): string => {
    if (next === pool.length) {
      randomFillSync(pool)
      next = 0
    }
    const value = pool.toString("base64url", next, next + size)
    pool.fill(0, next, next + size)
    next += size
    return value
  }
}

/** 256 random bits in base64url for each secret; BASE64URL(SHA-256(value)) as its fingerprint. */
export const layer: Layer.Layer<Secrets> = Layer.sync(Secrets, () => {
  const draw = makePool(128)
  return {
    make: (kind, name = "") => Effect.sync(() => Redacted.make(prefixes[kind] + name + draw())),
    makeSigning: Effect.sync(() => Redacted.make(`whsec_${randomBytes(size).toString("base64")}`)),
    hash: (value) => trusted(TokenHash, hash("sha256", value, "base64url"))
  }
})
