/** Brings the tables up to date. Any number of nodes may do so at the same time. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { StoreError } from "@startlist/core/Store"
import { Database } from "./Database.ts"
import { within } from "./internal/deadline.ts"
import * as Migrate from "./internal/migrate.ts"
import type { Migration } from "./internal/migration.ts"
import { migrations } from "./internal/schema.ts"
import { isMissingTable } from "./internal/sqlState.ts"

export type { Migration } from "./internal/migration.ts"

/** Steps that belong together, and the table in which the taken ones are recorded. */
export interface MigrationSet {
  /** Lower-case letters, digits and `_`. Each set needs a table of its own. */
  readonly table: string
  /** By number and name (`0001_initial`), taken in this order, each once and each as a whole. */
  readonly migrations: Readonly<Record<string, Migration>>
}

/**
 * The tables could not be brought up to date.
 *
 * - `newer`: a newer program has taken a step with whose result this one cannot work. Nothing was changed.
 * - `failed`: a step failed. The steps before it were taken, and it left nothing behind.
 * - `unreachable`: the database does not answer.
 */
export class MigrationError extends Schema.TaggedError<MigrationError>("@startlist/postgres/MigrationError")(
  "MigrationError",
  {
    reason: Schema.Literal("newer", "failed", "unreachable"),
    step: Schema.String,
    cause: Schema.optional(Schema.Defect)
  }
) {
  override get message(): string {
    switch (this.reason) {
      case "newer":
        return `the database is newer than this program: it has "${this.step}"`
      case "failed":
        return `the database could not be brought up to date: ${this.step}`
      case "unreachable":
        return "the database cannot be reached"
    }
  }
}

/** The prefix of all tables when none is given. */
export const defaultPrefix = "startlist_"

/** What the stores need. `prefix` stands in front of every table name. */
export const startlist = (prefix: string = defaultPrefix): MigrationSet => ({
  table: `${prefix}migrations`,
  migrations: migrations(prefix)
})

const isName = /^[a-z_][a-z0-9_]{0,62}$/

/** Where a database stands. Names of steps, in their order. */
export interface Status {
  /** Still to be taken. */
  readonly missing: ReadonlyArray<string>
  /** Taken by a newer program. */
  readonly unknown: ReadonlyArray<string>
  /** Those of the unknown with whose result this program cannot work. */
  readonly breaking: ReadonlyArray<string>
}

/** Compares a set with the steps that were taken, without a change. Where its table is missing, none was. */
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
 * Takes the steps that have not been taken yet, while nodes of an older program go on. Answers their names.
 *
 * A step waits at most two seconds for its locks, and then lets the requests pass that wait behind it. It says in the log
 * what it waits for, and tries until it succeeds. These lines are annotated with the step (`migration`). Of several runners one takes a step, and the others wait for it.
 */
export const run = (
  set: MigrationSet
): Effect.Effect<ReadonlyArray<string>, MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const { migrations, table } = set
    if (!isName.test(table)) return yield* new MigrationError({ reason: "failed", step: `"${table}" is no table name` })
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    let step: string | undefined
    const failed = (cause: unknown) =>
      step === undefined
        ? new MigrationError({ reason: "unreachable", step: "", cause })
        : new MigrationError({ reason: "failed", step, cause })
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
 * Builds an index while requests go on, as a slow step: `index("startlist_grants_scope", "startlist_grants (scope)")`.
 * An index that an earlier attempt left unfinished is removed first.
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

/** Writes, without a change: fails where the database only reads, as a standby does, or a server whose disk is full. */
export const writable: Effect.Effect<void, StoreError, Database> = Effect.flatMap(
  Database,
  ({ prefix, query }) =>
    Effect.asVoid(
      query({
        name: `${prefix}writable`,
        text: `UPDATE ${prefix}migrations SET name = name WHERE name = '0001_initial'`
      }, [])
    )
)

/** Fails while the database is away, or steps of a set have not been taken, or a newer program has broken with this one. Ends within five seconds. */
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
