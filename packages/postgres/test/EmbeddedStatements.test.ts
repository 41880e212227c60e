import { layer } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { Effect, Fiber } from "effect"
import { describe, expect } from "vitest"
import { opened } from "./support/embedded.ts"

/** More statements than stay prepared. */
const many = 250

describe("a statement of the embedded database", () => {
  layer(opened)((it) => {
    it.effect("returns the same rows again, for all types", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const text = "é\\\""
        const time = new Date(1e12 + 1)
        const run = sql`SELECT n AS number, n::bigint AS big, ${text}::text AS text, ${null}::integer AS nothing,
          ${true}::boolean AS flag, ${{ n: 1 }}::json AS object, ARRAY[n, n] AS list, ${time}::timestamptz AS time
          FROM generate_series(1, 2) n`
        const row = (number: number) => ({
          number,
          big: String(number),
          text,
          nothing: null,
          flag: true,
          object: { n: 1 },
          list: [number, number],
          time
        })
        for (let round = 0; round < 3; round++) expect(yield* run).toEqual([row(1), row(2)])
      }))

    it.effect("is between two of a caller that runs them without a pause", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        let others = 0
        const one = Effect.scoped(Effect.flatMap(sql.reserve, ({ execute }) => execute("SELECT 1", [], undefined)))
        const other = yield* Effect.fork(Effect.repeatN(Effect.zipRight(one, Effect.sync(() => others++)), 50))
        for (let mine = 1; mine <= 5; mine++) {
          yield* one
          expect([mine - 1, mine]).toContain(others)
        }
        yield* Fiber.interrupt(other)
      }))

    it.effect("can be used again after a refusal", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const divide = (by: number) => sql`SELECT 1 / ${by}::integer AS result`
        for (let time = 0; time < 2; time++) {
          expect(yield* Effect.flip(divide(0))).toMatchObject({ cause: { code: "22012" } })
          expect(yield* divide(1)).toEqual([{ result: 1 }])
        }
        expect(yield* Effect.flip(sql`SELECT nonsense`)).toMatchObject({ cause: { code: "42703" } })
        expect(yield* Effect.flip(sql.withTransaction(divide(0)))).toMatchObject({ cause: { code: "22012" } })
        expect(yield* sql.withTransaction(divide(1))).toEqual([{ result: 1 }])
      }))

    it.effect("has the columns of a table that was changed since", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE changing (a integer)`
        yield* sql`INSERT INTO changing VALUES (1)`
        const all = sql`SELECT * FROM changing`
        expect(yield* all).toEqual([{ a: 1 }])
        yield* sql`ALTER TABLE changing ADD COLUMN b text NOT NULL DEFAULT 'x'`
        expect(yield* all).toEqual([{ a: 1, b: "x" }])
        expect(yield* all).toEqual([{ a: 1, b: "x" }])
        yield* sql`ALTER TABLE changing DROP COLUMN b`
        expect(yield* Effect.flip(sql.withTransaction(all))).toMatchObject({ cause: { code: "0A000" } })
        expect(yield* sql.withTransaction(all)).toEqual([{ a: 1 }])
      }))

    it.effect("stays prepared, but only a limited number does", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const prepared = sql<{ readonly count: number }>`SELECT count(*)::integer AS count FROM pg_prepared_statements`
        for (let i = 0; i < many; i++) {
          expect(yield* sql.unsafe(`SELECT ${i} AS i`)).toEqual([{ i }])
        }
        const [first] = yield* prepared
        expect(first!.count).toBeGreaterThan(100)
        expect(first!.count).toBeLessThan(many)
        for (let i = 0; i < many; i++) {
          expect(yield* sql.unsafe(`SELECT ${i} AS i`)).toEqual([{ i }])
        }
        expect(yield* prepared).toEqual([first])
      }))
  })
})
