import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Pg from "pg"
import { describe, expect } from "vitest"
import type { Parameter, Statement } from "../src/Database.ts"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as Pool from "../src/internal/pool.ts"

/** The work of a connection when it breaks. */
const works = {
  "no statement": () => Promise.resolve(),
  "a transaction": (client: Pg.ClientBase) => client.query("BEGIN"),
  "a statement": (client: Pg.ClientBase) => {
    client.query("SELECT pg_sleep(60)").catch(() => {})
    return Promise.resolve()
  }
}

/** How it breaks. */
const breaks = {
  "the server ends it": (client: Pg.PoolClient, other: Pg.ClientBase) =>
    other.query("SELECT pg_terminate_backend($1)", [Reflect.get(client, "processID")]),
  "the network resets it": async (client: Pg.PoolClient) => {
    client.connection.stream.destroy(new Error("reset"))
  }
}

// Every connection gives its slot back, also if it breaks: a slot that is lost is lost until the process ends.
describe("a slot", () => {
  for (const [work, begin] of Object.entries(works)) {
    for (const [fault, fail] of Object.entries(breaks)) {
      for (const order of ["before its release", "after its release"]) {
        it.scopedLive(`is free again if ${fault} during ${work}, ${order}`, () =>
          Effect.gen(function*() {
            const { url } = yield* TestDatabase.TestDatabase
            const pool = yield* Pool.make({ url, maxConnections: 1 })
            const others = yield* Pool.make({ url, maxConnections: 1 })
            yield* Effect.promise(async () => {
              const client = await pool.connect()
              client.on("error", () => {})
              const ended = new Promise((resolve) => client.once("end", resolve))
              await begin(client)
              if (order === "after its release") client.release()
              const other = await others.connect()
              await fail(client, other)
              other.release()
              await ended
              if (order === "before its release") client.release()
              expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
              expect([pool.totalCount, pool.isWaiting]).toEqual([1, false])
            })
          }).pipe(Effect.provide(TestDatabase.layerEmpty)))
      }
    }
  }
})

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
