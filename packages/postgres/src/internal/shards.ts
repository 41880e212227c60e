/**
 * The shard of a user on a Citus cluster, computed without the database, so that calls can be grouped by shard. Nothing
 * depends on it but speed.
 */

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** PostgreSQL's `hashint8` of an integer from 0 to 2^53 - 1: Bob Jenkins' mix of its halves, 32 bits with a sign. */
export const hashInt8 = (value: number): number => {
  const half = (value | 0) ^ Math.floor(value / 2 ** 32)
  let c = (0x9e3779b9 + 4 + 3923095) | 0
  let b = c
  let a = (c + half) | 0
  c = ((c ^ b) - rotated(b, 14)) | 0
  a = ((a ^ c) - rotated(c, 11)) | 0
  b = ((b ^ a) - rotated(a, 25)) | 0
  c = ((c ^ b) - rotated(b, 16)) | 0
  a = ((a ^ c) - rotated(c, 4)) | 0
  b = ((b ^ a) - rotated(a, 14)) | 0
  return ((c ^ b) - rotated(b, 24)) | 0
}

/** The number of the shard of a key, from 0: Citus gives each of `count` shards an equal part of the hashes. */
export const shardOf = (count: number) => (key: number): number =>
  Math.min(count - 1, Math.floor((hashInt8(key) + 2 ** 31) / Math.floor(2 ** 32 / count)))
