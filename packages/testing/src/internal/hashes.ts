/** Hashes for tests, which need no platform: SHA-256, fingerprints without cryptography, and random numbers without state. */

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** The first 32 bits of the fractional part. */
const fraction = (value: number): number => ((value - Math.floor(value)) * 2 ** 32) | 0

const primes: Array<number> = []
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
const roundConstants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))

/**
 * SHA-256 (FIPS 180-4) of a text in UTF-8: 32 bytes. In plain JavaScript, because Web Crypto is asynchronous, and
 * `Secrets.hash` is not.
 */
export const sha256 = (text: string): Uint8Array => {
  const bytes = new TextEncoder().encode(text)
  const message = new DataView(new ArrayBuffer((bytes.length + 9 + 63) & ~63))
  bytes.forEach((byte, place) => message.setUint8(place, byte))
  message.setUint8(bytes.length, 0x80)
  message.setUint32(message.byteLength - 4, bytes.length * 8)
  const state = new DataView(new ArrayBuffer(32))
  initial.forEach((word, place) => state.setInt32(place * 4, word))
  const words = new Int32Array(64)
  for (let block = 0; block < message.byteLength; block += 64) {
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = initial.map((_, place) => state.getInt32(place * 4))
    for (let i = 0; i < 64; i++) {
      const [old = 0, recent = 0] = [words[i - 15], words[i - 2]]
      const low = rotate(old, 7) ^ rotate(old, 18) ^ (old >>> 3)
      const high = rotate(recent, 17) ^ rotate(recent, 19) ^ (recent >>> 10)
      words[i] = i < 16 ? message.getInt32(block + i * 4) : (words[i - 16] ?? 0) + low + (words[i - 7] ?? 0) + high
      const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g))
        + (roundConstants[i] ?? 0) + (words[i] ?? 0)
      const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
      ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
    }
    ;[a, b, c, d, e, f, g, h].forEach((word, place) => state.setInt32(place * 4, state.getInt32(place * 4) + word))
  }
  return new Uint8Array(state.buffer)
}

/** The finalizer of MurmurHash3. */
export const mix = (value: number): number => {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A fingerprint of a text that does not contain it: 64 bits as hexadecimal digits. */
export const fingerprint = (text: string): string => {
  let [low, high] = [0x811c9dc5, 0x01000193]
  for (let index = 0; index < text.length; index++) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193)
    high = mix(high ^ text.charCodeAt(index) ^ low)
  }
  return (mix(low) >>> 0).toString(16).padStart(8, "0") + (high >>> 0).toString(16).padStart(8, "0")
}

/** A number in [0, 1) that depends on the seed and the keys only, not on earlier draws. */
export const chance = (seed: number, ...keys: ReadonlyArray<number>): number => {
  let hash = seed | 0
  for (const key of keys) hash = mix(Math.imul(hash ^ (key | 0), 0x9e3779b1) ^ Math.floor(key / 2 ** 32))
  return mix(hash ^ 0x5bd1e995) / 2 ** 32
}
