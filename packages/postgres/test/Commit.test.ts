import { layer } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { Postgres } from "@startlist/postgres"
import { Database } from "@startlist/postgres/Database"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import { opened } from "./support/embedded.ts"

const server = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, maxConnections: 2 }))
).pipe(Layer.provide(fixtures.seal), Layer.provide(TestDatabase.layer))

const places: Readonly<Record<string, Layer.Layer<Database | SqlClient.SqlClient, unknown>>> = {
  "the embedded database": opened,
  "a server": server
}

type Transaction = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, unknown>

const begins: Readonly<Record<string, (sql: SqlClient.SqlClient, database: Database.Service) => Transaction>> = {
  "the client": ({ withTransaction }) => withTransaction,
  "the stores": (_, { transaction }) => transaction
}

for (const [place, stores] of Object.entries(places)) {
  describe(`a transaction in ${place}`, () => {
    layer(stores)((it) => {
      for (const [owner, begin] of Object.entries(begins)) {
        it.effect(`of ${owner} fails if one of its statements has failed, also if the caller has ignored that`, () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const transaction = begin(sql, yield* Database)
            yield* sql`DROP TABLE IF EXISTS kept`
            yield* sql`CREATE TABLE kept (id integer)`
            const kept = sql`SELECT id FROM kept`
            const insert = sql`INSERT INTO kept VALUES (1)`
            const failing = sql`SELECT 1 / 0`
            for (let time = 0; time < 3; time++) {
              const exit = yield* Effect.exit(transaction(Effect.zipRight(insert, Effect.ignore(failing))))
              expect([exit._tag, yield* kept]).toEqual(["Failure", []])
            }
            yield* transaction(Effect.zipRight(insert, Effect.ignore(sql.withTransaction(failing))))
            expect(yield* kept).toEqual([{ id: 1 }])
          }))
      }
    })
  })
}
