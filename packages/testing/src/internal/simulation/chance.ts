/** Chance without a state: the same seed and keys always give the same number, whatever happened in between. */
import { mix } from "../fingerprint.ts"

/** A number in [0, 1). */
export const chance = (seed: number, ...keys: ReadonlyArray<number>): number => {
  let hash = seed | 0
  for (const key of keys) hash = mix(Math.imul(hash ^ (key | 0), 0x9e3779b1) ^ Math.floor(key / 2 ** 32))
  return mix(hash ^ 0x5bd1e995) / 2 ** 32
}
