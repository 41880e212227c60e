/**
 * Migrates the tables. Any number of nodes may do so at the same time.
 *
 * Not `Migrator` of `@effect/sql`: several sets of steps share a database, and a step waits for its lock only shortly.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import * as Migrate from "./internal/migrate.ts"
import { Database } from "./Database.ts"
import { findUnusable, isMissingTable, within } from "./internal/statement.ts"
import type { Migration } from "./internal/migrate.ts"
import { migrations } from "./internal/schema.ts"

export type { Migration } from "./internal/migrate.ts"

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
      yield* Migrate.prepare(table)
      for (const name of missing) {
        step = name
        const taking = Effect.zipRight(
          Effect.logDebug(`${table}: ${name}`),
          Migrate.take(table, name, migrations[name] ?? { run: Effect.void })
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

/** Rows that need more than their memory, so that 256 KiB of them go to a temporary file: without a trace, also in the log. */
const spill = `WITH setting AS MATERIALIZED (SELECT set_config('work_mem', '64kB', true) AS memory)
  SELECT count(*) FROM setting, unnest(array_fill(repeat(memory, 500), ARRAY[128])) text`

/**
 * Writes without changing anything. Fails if the database is read-only, such as a standby, or if its disk is full: a changed
 * row alone uses the space of its older versions, until the log needs space.
 */
export const writable: Effect.Effect<void, StoreError, Database> = Effect.flatMap(
  Database,
  ({ prefix, query }) =>
    Effect.zipRight(
      query({
        name: `${prefix}writable`,
        text: `UPDATE ${prefix}migrations SET name = name WHERE name = '0001_initial'`
      }, []),
      Effect.asVoid(query({ name: `${prefix}spill`, text: spill }, []))
    )
)

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
