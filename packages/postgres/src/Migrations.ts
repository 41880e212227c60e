/**
 * Migrates the tables. Any number of nodes may do so at the same time.
 *
 * Requests wait behind a lock for which a migration waits, so it waits only briefly, lets them pass, and retries. It
 * locks only one table: requests lock tables in another order, so under load it would never get two.
 *
 * Not `Migrator` of `@effect/sql`: several sets of steps share a database, and a step waits for its lock only shortly.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import { type Migration, migrations } from "./internal/schema.ts"
import {
  findUnusable,
  isDefinitionChanged,
  isLockTimeout,
  isMissingTable,
  isRetryable,
  within
} from "./internal/statement.ts"

export type { Migration } from "./internal/schema.ts"

/** Migrations that belong together, and the table that records applied ones. */
export interface MigrationSet {
  /** Name of the table: lower-case letters, digits and `_`. Each set needs its own table. */
  readonly table: string
  /** By number and name (`0001_initial`). Applied in this order, each once and atomically. */
  readonly migrations: Readonly<Record<string, Migration>>
}

/**
 * The tables could not be migrated.
 *
 * - `newer`: a newer program has applied a migration that this program does not support. Nothing was changed.
 * - `failed`: a migration failed without any effect. The migrations before it were applied.
 * - `unreachable`: the database does not answer.
 * - `unusable`: it cannot hold the tables: it takes no writes, or has another encoding than UTF8.
 */
export class MigrationError extends Schema.TaggedError<MigrationError>()("@startlist/postgres/MigrationError", {
  reason: Schema.Literal("newer", "failed", "unreachable", "unusable"),
  step: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message(): string {
    switch (this.reason) {
      case "newer":
        return `the database is newer than this program: it has "${this.step}"`
      case "failed":
        return `the database could not be brought up to date: ${this.step}`
      case "unreachable":
        return "the database cannot be reached"
      case "unusable":
        return this.cause instanceof Error ? this.cause.message : "the database cannot be used"
    }
  }
}

/** Default prefix of all tables. */
export const defaultPrefix = "startlist_"

/** The migrations of the stores. `prefix` begins every table name. */
export const startlist = (prefix: string = defaultPrefix): MigrationSet => ({
  table: `${prefix}migrations`,
  migrations: migrations(prefix)
})

const isName = /^[a-z_][a-z0-9_]{0,62}$/

/** State of a database: names of migrations, in order. */
export interface Status {
  /** Not applied yet. */
  readonly missing: ReadonlyArray<string>
  /** Applied by a newer program. */
  readonly unknown: ReadonlyArray<string>
  /** Unknown migrations that this program does not support. */
  readonly breaking: ReadonlyArray<string>
}

/** Compares a set with the applied migrations, without changes. Without its table, none are applied. */
export const status = (
  { migrations, table }: MigrationSet
): Effect.Effect<Status, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const rows = yield* sql<{ readonly name: string; readonly breaking: boolean }>`
      SELECT name, breaking FROM ${sql(table)} ORDER BY name`.pipe(
      Effect.catchIf(isMissingTable, () => Effect.succeed([]))
    )
    const taken = new Set(rows.map(({ name }) => name))
    const unknown = rows.filter(({ name }) => !(name in migrations))
    return {
      missing: Object.keys(migrations).filter((name) => !taken.has(name)).sort(),
      unknown: unknown.map(({ name }) => name),
      breaking: unknown.filter(({ breaking }) => breaking).map(({ name }) => name)
    }
  })

/**
 * Applies the missing migrations while nodes of an older program continue. Returns their names.
 *
 * A migration waits at most two seconds for its locks. Then it lets waiting requests pass, logs its obstacle (annotated
 * with `migration`), and retries until it succeeds. If several nodes run migrations, one applies each, and the others
 * wait.
 */
export const run = (
  set: MigrationSet
): Effect.Effect<ReadonlyArray<string>, MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const { migrations, table } = set
    if (!isName.test(table)) return yield* new MigrationError({ reason: "failed", step: `"${table}" is no table name` })
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    let step: string | undefined
    const failed = (cause: unknown) => {
      if (step !== undefined) return new MigrationError({ reason: "failed", step, cause })
      const unusable = findUnusable(cause)
      return unusable === undefined
        ? new MigrationError({ reason: "unreachable", step: "", cause })
        : new MigrationError({ reason: "unusable", step: "", cause: unusable })
    }
    const steps = Effect.gen(function*() {
      const { breaking: [newer], missing } = yield* status(set)
      if (newer !== undefined) return yield* new MigrationError({ reason: "newer", step: newer })
      if (missing.length === 0) return missing
      step = `the table ${table}`
      yield* prepare(table)
      for (const name of missing) {
        step = name
        const taking = Effect.zipRight(
          Effect.logDebug(`${table}: ${name}`),
          take(table, name, migrations[name] ?? { run: Effect.void })
        )
        yield* Effect.annotateLogs(taking, "migration", name)
      }
      return missing
    })
    return yield* Effect.provideService(steps, SqlClient.SqlClient, sql).pipe(
      Effect.catchTag("SqlError", failed),
      Effect.catchAllDefect(failed)
    )
  })

/**
 * A slow migration that builds an index while requests continue: `index("startlist_grants_scope", "startlist_grants
 * (scope)")`. First removes an incomplete index of an earlier attempt.
 */
export const index = (name: string, on: string): Migration => ({
  slow: true,
  run: Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const unfinished = yield* sql`SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(${name}) AND NOT indisvalid`
    if (unfinished.length > 0) yield* sql.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
    yield* sql.unsafe(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${on}`)
  })
})

/** Fails if the database is unavailable, or migrations are missing or unsupported. Ends within five seconds. */
export const ready = (set: MigrationSet): Effect.Effect<void, StoreError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { breaking: [newer], missing: [step] } = yield* within(
      Effect.provideService(status(set), SqlClient.SqlClient, sql)
    ).pipe(
      Effect.catchTag("SqlError", (cause) => new StoreError({ cause }))
    )
    if (newer !== undefined) yield* new StoreError({ cause: new MigrationError({ reason: "newer", step: newer }) })
    if (step !== undefined) yield* new StoreError({ cause: new Error(`migration ${step} has not been run`) })
  })

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
const prepare = (table: string): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const create = sql`CREATE TABLE IF NOT EXISTS ${sql(table)}
      (name text PRIMARY KEY, breaking boolean NOT NULL DEFAULT false)`
    const attempt = sql.withTransaction(Effect.tap(alone(sql, table), (isAlone) => isAlone ? create : Effect.void))
    while (!(yield* attempt)) yield* Effect.sleep(poll)
  })

/** Applies the migration, and retries until it succeeds. Does nothing if it was already applied. */
const take = (
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
