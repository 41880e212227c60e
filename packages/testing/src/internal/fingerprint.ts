/** Fingerprints without cryptography, and random numbers without state. */

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
