/** The shard of a user is computed without the database, and is the one that the database would choose. */
import { it } from "@effect/vitest"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect } from "effect"
import { expect } from "vitest"
import { hashInt8, shardOf } from "../src/internal/dialect/citus.ts"

const keys = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]
  .concat(Array.from({ length: 1000 }, () => Math.floor(Math.random() * 2 ** (53 * Math.random()))))

it.live("the hash of a key is that of PostgreSQL", () =>
  Effect.gen(function*() {
    const { admin } = yield* TestDatabase.TestDatabase
    const { rows } = yield* Effect.promise(() =>
      admin.query("SELECT key, hashint8(key) AS hash FROM unnest($1::bigint[]) key", [keys])
    )
    expect(keys.map((key) => [key, hashInt8(key)])).toEqual(rows.map(({ hash, key }) => [Number(key), hash]))
  }).pipe(Effect.provide(TestDatabase.layer)))

it("every key has one of the shards, and each shard has its part of the keys", () => {
  for (const count of [1, 2, 3, 4, 32]) {
    const sizes = Array.from({ length: count }, () => 0)
    const of = shardOf(count)
    for (let key = 1; key <= 10_000; key++) sizes[of(key)] = (sizes[of(key)] ?? NaN) + 1
    for (const size of sizes) expect(Math.abs(size * count - 10_000)).toBeLessThan(2500)
  }
})
