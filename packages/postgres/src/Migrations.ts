/** Brings the tables up to date, by any number of nodes at once. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { StoreError } from "@startlist/core/Store"
import { Database } from "./Database.ts"
import { within } from "./internal/deadline.ts"
import { migrations } from "./internal/schema.ts"
import { isMissingTable } from "./internal/sqlState.ts"

/** Steps that belong together, and the table in which the taken ones are recorded. */
export interface MigrationSet {
  /** Lower-case letters, digits and `_`. Each set needs a table of its own. */
  readonly table: string
  /** By number and name (`0001_initial`), taken in this order, each once, all in one transaction. */
  readonly migrations: Readonly<Record<string, Effect.Effect<void, SqlError, SqlClient.SqlClient>>>
}

/**
 * The tables could not be brought up to date; nothing was changed.
 *
 * - `newer`: a step was taken that this code does not know. A newer version has been here.
 * - `failed`: a step failed.
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

/** Where a database stands: steps of the set that are still to be taken, and steps of a newer program. In their order. */
export interface Status {
  readonly missing: ReadonlyArray<string>
  readonly unknown: ReadonlyArray<string>
}

/** Compares a set with the steps that were taken, without a change. Where its table is missing, none was. */
export const status = (
  { migrations, table }: MigrationSet
): Effect.Effect<Status, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const rows = yield* sql<{ readonly name: string }>`SELECT name FROM ${sql(table)}`.pipe(
      Effect.catchIf(isMissingTable, () => Effect.succeed([]))
    )
    const taken = new Set(rows.map(({ name }) => name))
    return {
      missing: Object.keys(migrations).filter((name) => !taken.has(name)).sort(),
      unknown: [...taken].filter((name) => !(name in migrations)).sort()
    }
  })

/**
 * Takes the steps that have not been taken yet. Answers their names.
 *
 * Runners wait for each other at an advisory lock, which ends with the transaction: no two create the same table, and
 * none but the first has anything to do.
 */
export const run = (
  { migrations, table }: MigrationSet
): Effect.Effect<ReadonlyArray<string>, MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    if (!isName.test(table)) return yield* new MigrationError({ reason: "failed", step: `"${table}" is no table name` })
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    let step: string | undefined
    const failed = (cause: unknown) =>
      step === undefined
        ? new MigrationError({ reason: "unreachable", step: "", cause })
        : new MigrationError({ reason: "failed", step, cause })
    const steps = Effect.gen(function*() {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.' || ${table}::text, 0))`
      step = `the table ${table}`
      yield* sql`CREATE TABLE IF NOT EXISTS ${sql(table)} (name text PRIMARY KEY)`
      const { missing, unknown: [newer] } = yield* status({ migrations, table })
      if (newer !== undefined) return yield* new MigrationError({ reason: "newer", step: newer })
      for (const name of missing) {
        step = name
        yield* Effect.logDebug(`${table}: ${name}`).pipe(Effect.annotateLogs("migration", name))
        yield* migrations[name] ?? Effect.void
        yield* sql`INSERT INTO ${sql(table)} (name) VALUES (${name})`
      }
      return missing
    })
    // A COMMIT that fails is a defect in @effect/sql.
    return yield* sql.withTransaction(Effect.provideService(steps, SqlClient.SqlClient, sql)).pipe(
      Effect.catchTag("SqlError", failed),
      Effect.catchAllDefect(failed)
    )
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

/** Fails while the database is away, or steps of a set have not been taken. Ends within five seconds. */
export const ready = (set: MigrationSet): Effect.Effect<void, StoreError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { missing: [step] } = yield* within(Effect.provideService(status(set), SqlClient.SqlClient, sql)).pipe(
      Effect.catchTag("SqlError", (cause) => new StoreError({ cause }))
    )
    if (step !== undefined) yield* new StoreError({ cause: new Error(`migration ${step} has not been run`) })
  })
