/** HMAC-SHA-256 (RFC 2104) with two one-shot hashes: takes half the time of `createHmac`, without garbage. */
import { Buffer } from "node:buffer"
import { createHmac, hash } from "node:crypto"

const blockSize = 64
const digestSize = 32

/** Maximum length of a text that fits into the buffer, in characters. */
const maxLength = 1024

/** The HMAC of a text under this key of at most 64 bytes, in base64url. */
export const makeHmac = (key: Uint8Array): (text: string) => string => {
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
