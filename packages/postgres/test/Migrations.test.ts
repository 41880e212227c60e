import { it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { SqlClient } from "@effect/sql"
import { Migrations, Postgres } from "@startlist/postgres"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const tables = Effect.flatMap(
  TestDatabase.TestDatabase,
  ({ admin }) =>
    Effect.promise(() =>
      admin.query("SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace")
    )
).pipe(Effect.map(({ rows }) => rows.map(({ relname }) => String(relname)).sort()))

/** Each test has an empty schema. */
const fresh = <A, E>(test: Effect.Effect<A, E, TestDatabase.TestDatabase>) =>
  Effect.provide(test, TestDatabase.layerEmpty)

const own: Migrations.MigrationSet = {
  table: "own_migrations",
  migrations: {
    "0001_notes": {
      run: Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE own_notes (id bigint PRIMARY KEY)`)
    }
  }
}

describe("migrations", () => {
  it.live("six nodes start on an empty database at the same time: all succeed, and each migration is applied once", () =>
    fresh(Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      const node = Effect.scoped(Effect.provide(Postgres.ready, Postgres.layer({ url, migrations: [own] }))).pipe(
        Effect.provide(fixtures.seal)
      )
      yield* Effect.all(Array.from({ length: 6 }, () => node), { concurrency: "unbounded" })
      const { rows } = yield* Effect.promise(() => admin.query("SELECT name FROM startlist_migrations"))
      expect(rows.map(({ name }) => name)).toEqual(Object.keys(Migrations.startlist().migrations))
      expect(yield* tables).toContain("own_notes")
    })))

  it.live("a database with an unsupported migration of a newer program is refused with a reason, and not changed", () =>
    fresh(Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url })
      yield* Effect.promise(() => admin.query("INSERT INTO startlist_migrations VALUES ('0999_from_the_future', true)"))
      const before = yield* tables
      const error = yield* Effect.flip(Postgres.migrate({ url, migrations: [own] }))
      expect(error.message).toBe("the database is newer than this program: it has \"0999_from_the_future\"")
      expect(yield* tables).toEqual(before)
    })))

  it.live("a failed migration has no effect, and a later run continues after the last good one", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      const broken = Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`CREATE TABLE half (id bigint)`.pipe(Effect.zipRight(sql`SELECT no_such_column`))
      )
      const failing = { ...own, migrations: { ...own.migrations, "0002_broken": { run: Effect.asVoid(broken) } } }
      const error = yield* Effect.flip(Postgres.migrate({ url, migrations: [failing] }))
      expect(error.message).toBe("the database could not be brought up to date: 0002_broken")
      expect(yield* tables).not.toContain("half")
      expect(yield* tables).toContain("own_notes")
      yield* Postgres.migrate({ url, migrations: [own] })
    })))

  it.live("the status of a database names missing migrations, and those of a newer program", () =>
    fresh(Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      const client = PgClient.layer({ url: Redacted.make(Redacted.value(url)) })
      const both = { ...own, migrations: { ...own.migrations, "0002_more": { run: Effect.void } } }
      const look = Effect.gen(function*() {
        const status = yield* Migrations.status(both)
        return { ...status, ready: Exit.isSuccess(yield* Effect.exit(Migrations.ready(both))) }
      }).pipe(Effect.provide(client))
      expect(yield* look).toEqual({ missing: ["0001_notes", "0002_more"], unknown: [], breaking: [], ready: false })
      yield* Postgres.migrate({ url, migrations: [own] })
      expect(yield* look).toEqual({ missing: ["0002_more"], unknown: [], breaking: [], ready: false })
      yield* Postgres.migrate({ url, migrations: [both] })
      const future = (breaking: boolean) =>
        Effect.promise(() =>
          admin.query("INSERT INTO own_migrations VALUES ($1, $2)", [`099${breaking ? 9 : 8}`, breaking])
        )
      yield* future(false)
      expect(yield* look).toEqual({ missing: [], unknown: ["0998"], breaking: [], ready: true })
      yield* future(true)
      expect(yield* look).toEqual({ missing: [], unknown: ["0998", "0999"], breaking: ["0999"], ready: false })
    })))

  it.live("two sets of tables with different prefixes are independent", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url, prefix: "one_" })
      yield* Postgres.migrate({ url, prefix: "two_" })
      expect(yield* tables).toEqual(expect.arrayContaining(["one_grants", "two_grants"]))
      const exit = yield* Effect.exit(Postgres.migrate({ url, prefix: "bad\"; DROP" }))
      expect(Exit.isFailure(exit)).toBe(true)
    })))

  it.live("an embedder's client that transforms column names also runs them", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      const client = PgClient.layer({
        url: Redacted.make(Redacted.value(url)),
        transformQueryNames: (name) => name.toUpperCase(),
        transformResultNames: (name) => name.toUpperCase()
      })
      yield* Effect.provide(Migrations.run(Migrations.startlist()), client)
      expect(yield* tables).toContain("startlist_grants")
    })))

  it.live("tables cannot be distributed without Citus, and the tables stay as they are", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url })
      const before = yield* tables
      const refused = yield* Effect.flip(Postgres.migrate({ url, distributed: true }))
      expect(refused.message).toBe("the database could not be brought up to date: it has no extension citus")
      expect(yield* tables).toEqual(before)
    })))

  it.live("a migration that locks a table that it does not name fails, and names the table", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      const alter = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ALTER TABLE own_notes ADD COLUMN text text`)
      const more = (step: Partial<Migrations.Migration>): Migrations.MigrationSet => ({
        ...own,
        migrations: { ...own.migrations, "0002_text": { run: Effect.asVoid(alter), ...step } }
      })
      const error = yield* Effect.flip(Postgres.migrate({ url, migrations: [more({})] }))
      expect(String(error.cause)).toContain(
        "the step 0002_text locks the table own_notes, which is not the one that it changes"
      )
      yield* Postgres.migrate({ url, migrations: [more({ changes: "own_notes" })] })
    })))

  it.live("a migration that the server ends to resolve a deadlock is retried", () =>
    fresh(Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      let attempts = 0
      const victim = Effect.flatMap(SqlClient.SqlClient, (sql) =>
        ++attempts === 1
          ? sql`DO $$ BEGIN RAISE EXCEPTION 'a victim' USING ERRCODE = 'deadlock_detected'; END $$`
          : sql`INSERT INTO own_notes VALUES (1)`)
      const set = { ...own, migrations: { ...own.migrations, "0002_note": { run: Effect.asVoid(victim) } } }
      yield* Postgres.migrate({ url, migrations: [set] })
      expect(attempts).toBe(2)
    })))

  describe("an incomplete index of an earlier attempt is built again", () => {
    const set = {
      ...own,
      migrations: { ...own.migrations, "0002_index": Migrations.index("own_notes_id", "own_notes (id)") }
    }
    const invalidate = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'own_notes_id'::regclass"
    const incomplete = Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url, migrations: [own] })
      yield* Effect.promise(async () => {
        await admin.query("CREATE INDEX own_notes_id ON own_notes (id)")
        await admin.query(invalidate)
      })
      const isValid = Effect.promise(async () => {
        const { rows } = await admin.query(
          "SELECT indisvalid FROM pg_index WHERE indexrelid = 'own_notes_id'::regclass"
        )
        return rows
      })
      return { admin, isValid, migrate: Postgres.migrate({ url, migrations: [set] }) }
    })

    it.live("by two nodes that run the migration at the same time", () =>
      fresh(Effect.gen(function*() {
        const { isValid, migrate } = yield* incomplete
        yield* Effect.all([migrate, migrate], { concurrency: 2 })
        expect(yield* isValid).toEqual([{ indisvalid: true }])
      })))

    it.live("while another node changes its definition", () =>
      fresh(
        Effect.gen(function*() {
          const { admin, isValid, migrate } = yield* incomplete
          const other = yield* Effect.acquireRelease(
            Effect.promise(() => admin.connect()),
            (client) => Effect.sync(() => client.release())
          )
          yield* Effect.promise(async () => {
            await other.query("BEGIN")
            await other.query(invalidate)
          })
          const migrating = yield* Effect.fork(migrate)
          const waiting = Effect.promise(() =>
            admin.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DROP INDEX%'")
          )
          yield* Effect.repeat(waiting, { until: ({ rows }) => rows.length === 1 })
          yield* Effect.promise(() => other.query("COMMIT"))
          yield* Fiber.join(migrating)
          expect(yield* isValid).toEqual([{ indisvalid: true }])
        }).pipe(Effect.scoped)
      ))
  })
})
