import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Pg from "pg"
import { describe, expect } from "vitest"
import type { Parameter, Statement } from "../src/Database.ts"
import * as Pool from "../src/internal/pool.ts"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const client = Effect.gen(function*() {
  const { url } = yield* TestDatabase.TestDatabase
  return yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const made = new Pg.Client({ connectionString: Redacted.value(url) })
      await made.connect()
      return made
    }),
    (made) => Effect.promise(() => made.end())
  )
})

const ask = (client: Pg.Client) => (statement: Statement, parameters: ReadonlyArray<Parameter>) =>
  Effect.async<ReadonlyArray<object>, Error>((resume) =>
    Pool.run(
      client,
      statement,
      parameters,
      (error, rows = []) => resume(error ? Effect.fail(error) : Effect.succeed(rows))
    )
  )

const types = {
  name: "types",
  text: `SELECT n AS number, n::bigint AS big, $1::text AS text, $2::integer AS nothing, n > 1 AS flag,
    json_build_object('n', n) AS object, ARRAY[n, n] AS list, 'c'::"char" AS letter FROM generate_series(1, 2) n`
}
const division = { name: "division", text: "SELECT 1 / $1::integer AS result" }

describe("a prepared statement", () => {
  it.live("returns the same rows again, for all types", () =>
    Effect.gen(function*() {
      const run = ask(yield* client)
      const text = "é\\\""
      const row = (n: number) => ({
        number: n,
        big: String(n),
        text,
        nothing: null,
        flag: n > 1,
        object: { n },
        list: [n, n],
        letter: "c"
      })
      for (let time = 0; time < 3; time++) expect(yield* run(types, [text, null])).toEqual([row(1), row(2)])
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)))

  it.live("can be used again after a refusal, and so can its connection", () =>
    Effect.gen(function*() {
      const run = ask(yield* client)
      for (let time = 0; time < 2; time++) {
        expect(yield* Effect.flip(run(division, [0]))).toMatchObject({ code: "22012" })
        expect(yield* Effect.flip(run(division, ["x"]))).toMatchObject({ code: "22P02" })
        expect(yield* run(division, [1])).toEqual([{ result: 1 }])
      }
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)))
})
