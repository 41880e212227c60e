/**
 * Applies one migration while nodes continue.
 *
 * Requests wait behind a lock for which a migration waits, so it waits only briefly, lets them pass, and retries. It
 * locks only one table: requests lock tables in another order, so under load it would never get two.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { SqlError } from "@effect/sql/SqlError"
import { isDefinitionChanged, isLockTimeout, isRetryable } from "./statement.ts"

/** Timeout of a migration for its lock, in milliseconds. Requests have a deadline of 4 s. */
const lockTimeout = 2000

/** Seconds between two attempts, in which requests pass. */
const pauses = [1, 2, 4, 8]

/** Interval of checks whether another node has finished. */
const poll = Duration.millis(200)

type Sql = SqlClient.SqlClient

/** The outcome of one attempt. */
type Attempt = "taken" | "another node is at work"

const isTaken = (sql: Sql, table: string, name: string) =>
  Effect.map(sql`SELECT 1 FROM ${sql(table)} WHERE name = ${name}`, ({ length }) => length > 0)

const record = (sql: Sql, table: string, name: string, { breaking = false }: Migration) =>
  sql`INSERT INTO ${sql(table)} (name, breaking) VALUES (${name}, ${breaking}) ON CONFLICT DO NOTHING`

const lock = (sql: Sql, table: string) =>
  Effect.zipRight(
    sql.unsafe(`SET LOCAL lock_timeout = ${lockTimeout}`),
    sql`LOCK TABLE ${sql(table)} IN ACCESS EXCLUSIVE MODE`
  )

/** By identifier: another schema may have tables of the same names. */
const existingTables = (sql: Sql) =>
  Effect.map(
    sql<{ readonly id: number }>`SELECT oid AS id FROM pg_class WHERE relkind IN ('r', 'p')`,
    (rows) => new Set(rows.map(({ id }) => id))
  )

/** Tables on which this transaction has locks that requests wait for. */
const lockedTables = (sql: Sql) =>
  sql<{ readonly id: number; readonly name: string }>`
    SELECT pg_class.oid AS id, relname AS name FROM pg_locks JOIN pg_class ON pg_class.oid = relation
    WHERE pid = pg_backend_pid() AND relkind IN ('r', 'p')
      AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`

/** The migration locks a second table. Its author must split it. */
const undeclared = (name: string, table: string) =>
  Effect.die(new Error(`the step ${name} locks the table ${table}, which is not the one that it changes`))

/** One attempt in one transaction. Only one node does it at a time. */
const inTransaction = (sql: Sql, table: string, name: string, migration: Migration) =>
  sql.withTransaction(
    Effect.gen(function*() {
      if (!(yield* alone(sql, table))) return "another node is at work"
      if (yield* isTaken(sql, table, name)) return "taken"
      const { changes, run } = migration
      const existing = yield* existingTables(sql)
      if (changes !== undefined) yield* lock(sql, changes)
      yield* run
      for (const locked of yield* lockedTables(sql)) {
        if (existing.has(locked.id) && locked.name !== changes) yield* undeclared(name, locked.name)
      }
      yield* record(sql, table, name, migration)
      return "taken"
    }).pipe(Effect.map((attempt): Attempt => attempt))
  )

/** Whether no other node applies a migration of this set. Does not wait, because that would block a slow migration. */
const alone = (sql: Sql, table: string) =>
  Effect.map(
    sql<{ readonly alone: boolean }>`SELECT pg_try_advisory_xact_lock(
      hashtextextended(current_schema() || '.' || ${table}::text, 0)) AS alone`,
    ([row]) => row?.alone === true
  )

/** One attempt outside of a transaction. Two nodes may do it at the same time: slow migrations are repeatable. */
const outside = (sql: Sql, table: string, name: string, migration: Migration) =>
  Effect.gen(function*() {
    const building = yield* sql`SELECT 1 FROM pg_stat_progress_create_index WHERE datname = current_database()`
    if (building.length > 0) return "another node is at work"
    if (yield* isTaken(sql, table, name)) return "taken"
    yield* Effect.logInfo(`the migration ${name} takes long; requests continue`)
    yield* migration.run
    yield* record(sql, table, name, migration)
    return "taken"
  }).pipe(
    Effect.map((attempt): Attempt => attempt),
    Effect.catchIf(isDefinitionChanged, () => Effect.succeed<Attempt>("another node is at work"))
  )

interface User {
  readonly name: string
  readonly pid: number
  readonly seconds: number
}

/** Describes the transaction that has used a table for longest. */
const longestUser = (sql: Sql, table: string) =>
  Effect.map(
    sql<User>`SELECT pid, coalesce(nullif(application_name, ''), 'a client') AS name,
        extract(epoch FROM clock_timestamp() - xact_start)::integer AS seconds
      FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE relation = to_regclass(${table}) AND granted AND pid <> pg_backend_pid()
        AND xact_start < clock_timestamp() - interval '1 second'
      ORDER BY xact_start LIMIT 1`,
    ([user]) => user === undefined ? "the load" : `${user.name} (process ${user.pid}, for ${user.seconds} s)`
  )

const waits = (sql: Sql, name: string, { changes }: Migration, seconds: number) =>
  Effect.gen(function*() {
    const cause = changes === undefined ? "the load" : yield* longestUser(sql, changes)
    yield* Effect.logWarning(`the migration ${name} waits for ${cause}, and tries again in ${seconds} s`)
  })

/** Creates the table that records the applied migrations of a set. */
export const prepare = (table: string): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const create = sql`CREATE TABLE IF NOT EXISTS ${sql(table)}
      (name text PRIMARY KEY, breaking boolean NOT NULL DEFAULT false)`
    const attempt = sql.withTransaction(Effect.tap(alone(sql, table), (isAlone) => isAlone ? create : Effect.void))
    while (!(yield* attempt)) yield* Effect.sleep(poll)
  })

/** Applies the migration, and retries until it succeeds. Does nothing if it was already applied. */
export const take = (
  table: string,
  name: string,
  migration: Migration
): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // A COMMIT that fails is a defect in @effect/sql.
    const attempt = (migration.slow === true ? outside : inTransaction)(sql, table, name, migration).pipe(
      Effect.catchAllDefect((cause) => isRetryable(cause) ? new SqlError({ cause }) : Effect.die(cause)),
      Effect.either
    )
    for (let failures = 0;;) {
      const attempted = yield* attempt
      if (attempted._tag === "Right") {
        if (attempted.right === "taken") return
        yield* Effect.sleep(poll)
        continue
      }
      if (!isRetryable(attempted.left) && !isLockTimeout(attempted.left)) return yield* attempted.left
      const seconds = pauses[Math.min(failures++, pauses.length - 1)] ?? 0
      yield* waits(sql, name, migration, seconds)
      yield* Effect.sleep(Duration.seconds(seconds))
    }
  })

/** One migration. */
export interface Migration {
  readonly run: Effect.Effect<void, SqlError, SqlClient.SqlClient>
  /**
   * The table of earlier migrations whose definition it changes. It is locked first. A migration that locks another
   * table fails: use one migration per table.
   */
  readonly changes?: string
  /**
   * The migration takes longer than requests can wait. It runs outside of a transaction, locks nothing that requests
   * need, and is repeatable after any interruption: an index by `index`, or changes of rows in batches.
   */
  readonly slow?: boolean
  /** Older programs do not support the result: they do not start, and are no longer ready. Default: false. */
  readonly breaking?: boolean
}
