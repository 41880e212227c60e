/** What operators set for roles and databases does not change what our statements mean. */
import { describe, expect, it } from "@effect/vitest"
import { Database, Postgres } from "@startlist/postgres"
import { Context, Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

describe("the sessions", () => {
  it.scopedLive("a database that cannot hold every text is refused at the start", () =>
    Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      for (const migrate of [true, false]) {
        const refused = yield* Effect.flip(Layer.build(Postgres.layer({ url, migrate })))
        expect(String(refused.message)).toContain("the database has the encoding LATIN1")
      }
    }).pipe(
      Effect.provide([TestDatabase.layerEmptyWith("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"), fixtures.seal])
    ))

  it.scopedLive("a value that the database refuses is a refused request", () =>
    Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      const { query } = Context.get(yield* Layer.build(Postgres.layer({ url })), Database.Database)
      const ask = (text: string, value: string) => Effect.flip(query({ name: "", text }, [value]))
      const asked = yield* Effect.all([
        ask("SELECT $1::text", "\0"),
        ask("SELECT $1::json", "{"),
        ask("SELECT $1::bigint", "9223372036854775808"),
        ask("SELECT $1::text FROM nowhere", "")
      ])
      expect(asked.map(({ isRefused }) => isRefused)).toEqual([true, true, true, undefined])
    }).pipe(Effect.provide([TestDatabase.layer, fixtures.seal])))
})
