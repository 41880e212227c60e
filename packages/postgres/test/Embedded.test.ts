import { it } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { Database, Migrations, Move, Postgres, Users } from "@startlist/postgres"
import { Effect, Layer, Option, Redacted } from "effect"
import { createHash } from "node:crypto"
import { chownSync, cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect } from "vitest"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { inFolder, insert, isThere, open } from "./support/embedded.ts"

const fingerprint = (folder: string) => {
  const hash = createHash("sha256")
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    hash.update(path)
    if (entry.isFile()) hash.update(readFileSync(path))
  }
  return hash.digest("hex")
}

describe("the embedded database", () => {
  it.live(
    "keeps saved data over a restart, and is ready when it is open",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const { id } = yield* Effect.provide(Effect.zipLeft(insert, Postgres.ready), open(folder))
          expect(yield* Effect.provide(isThere(id), open(folder))).toBe(true)
        })
      )
  )

  it.live(
    "lets the rest of the process run before every statement: responses are read, for any number of saves",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const users = yield* Users.Users
          let turns = 0
          const count = () => {
            turns++
            counting = setImmediate(count)
          }
          let counting = setImmediate(count)
          yield* Effect.repeatN(users.findByEmail("a@a.test"), 9)
          clearImmediate(counting)
          expect(turns).toBeGreaterThanOrEqual(10)
        }).pipe(Effect.provide(open(folder)))
      )
  )

  it.live(
    "lets the rest of the process run in a transaction with many statements: it can be ended, and nobody joins it",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const { query, transaction } = yield* Database.Database
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE saved (id integer)`
          const slow = query({ name: "slow", text: "SELECT count(*) FROM generate_series(1, 50000)" }, [])
          const long = Effect.zipRight(query({ name: "save", text: "INSERT INTO saved VALUES (1)" }, []), slow)
          const ended = yield* Effect.timeoutOption(transaction(Effect.repeatN(long, 200)), "1 millis")
          expect(ended).toEqual(Option.none())
          expect(yield* sql`SELECT * FROM saved`).toEqual([])
        }).pipe(Effect.provide(open(folder)))
      )
  )

  it.live(
    "refuses a folder of another PostgreSQL, a damaged one and a newer one, and changes nothing",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          yield* Effect.provide(insert, open(folder))
          const spoiled = (spoil: (cluster: string) => void) =>
            Effect.gen(function*() {
              const copy = yield* temporaryFolder
              cpSync(folder, copy, { recursive: true })
              spoil(join(copy, "pgdata"))
              const before = fingerprint(copy)
              const error = yield* Effect.flip(Effect.scoped(Layer.build(open(copy))))
              expect(fingerprint(copy)).toBe(before)
              return [error._tag, "reason" in error ? error.reason : ""]
            })
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "PG_VERSION"), "99\n"))).toEqual([
            "@startlist/postgres/EmbeddedError",
            "version"
          ])
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "PG_VERSION"), "\0\0"))).toEqual([
            "@startlist/postgres/EmbeddedError",
            "damaged"
          ])
          expect(yield* spoiled((cluster) => truncateSync(join(cluster, "global", "pg_control"), 100))).toEqual([
            "@startlist/postgres/EmbeddedError",
            "damaged"
          ])
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "global", "pg_control"), Buffer.alloc(8192))))
            .toEqual(["@startlist/postgres/EmbeddedError", "damaged"])
        })
      )
  )

  it.live.skipIf(process.geteuid?.() !== 0)(
    "refuses a folder of another user, who could not read what this one would write, and changes nothing",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          yield* Effect.provide(insert, open(folder))
          chownSync(join(folder, "pgdata"), 4711, 4711)
          const before = fingerprint(folder)
          const error = yield* Effect.flip(Effect.scoped(Layer.build(open(folder))))
          expect(error.message).toBe(
            `the data folder ${folder} belongs to user 4711: run this as that user, `
              + "with setpriv --reuid 4711 --regid 4711 --clear-groups startlist …"
          )
          expect(fingerprint(folder)).toBe(before)
        })
      )
  )

  it.effect("is not moved from a folder without a database, and none is created", () =>
    inFolder((parent) =>
      Effect.gen(function*() {
        const folder = join(parent, "wrong")
        const to = { url: Redacted.make("postgres://nobody@127.0.0.1:1/nothing") }
        const error = yield* Effect.flip(Move.move({ folder, to, description: "nothing" }))
        expect(error.message).toBe(`there is no database in the folder ${folder}`)
        expect(readdirSync(parent)).toEqual([])
      })
    ))

  it.live(
    "has the same values as `pg`: bigints as text, arrays of its types, dates, JSON, and values of several rows",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const [row] = yield* sql`SELECT
            ${[1, 2]}::int4[] AS numbers, ${["9007199254740993", null]}::int8[] AS big, ${[
            "a",
            "b\"c,"
          ]}::text[] AS texts,
            ARRAY[true, false] AS flags, ARRAY['2026-01-02T03:04:05Z'::timestamptz] AS instants,
            ARRAY['{"a":1}'::jsonb] AS objects, 7::int8 AS one, ARRAY[ARRAY[1, 2], ARRAY[3, 4]] AS nested`
          expect(row).toEqual({
            numbers: [1, 2],
            big: ["9007199254740993", null],
            texts: ["a", "b\"c,"],
            flags: [true, false],
            instants: [new Date("2026-01-02T03:04:05Z")],
            objects: [{ a: 1 }],
            one: "7",
            nested: [[1, 2], [3, 4]]
          })
          yield* sql`CREATE TABLE things (id integer, "a name" text)`
          yield* sql`INSERT INTO things ${sql.insert([{ id: 1, "a name": "x" }, { id: 2, "a name": "y" }])}`
          yield* sql`UPDATE things SET "a name" = data."a name"
            FROM ${sql.updateValues([{ id: 1, "a name": "z" }], "data")} WHERE things.id = data.id::integer`
          expect(yield* sql`SELECT * FROM things WHERE ${sql.in("id", [1, 2])} ORDER BY id`).toEqual([
            { id: 1, "a name": "z" },
            { id: 2, "a name": "y" }
          ])
        }).pipe(Effect.provide(open(folder)))
      )
  )

  it.live(
    "refuses a database whose tables are newer, and does not change them",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const newer = Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`INSERT INTO startlist_migrations VALUES ('0999_from_the_future', true)`
          )
          yield* Effect.provide(newer, open(folder))
          const own: Migrations.MigrationSet = { table: "own", migrations: {} }
          const error = yield* Effect.flip(Effect.scoped(Layer.build(open(folder, { migrations: [own] }))))
          expect(error.message).toBe("the database is newer than this program: it has \"0999_from_the_future\"")
        })
      )
  )
})
