/** Brings the tables up to date, by any number of nodes at once. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { migrations } from "./internal/schema.ts"

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
      const rows = yield* sql<{ readonly name: string }>`SELECT name FROM ${sql(table)} ORDER BY name`
      const taken = new Set(rows.map(({ name }) => name))
      const unknown = rows.find(({ name }) => !(name in migrations))
      if (unknown) return yield* new MigrationError({ reason: "newer", step: unknown.name })
      const missing = Object.entries(migrations).filter(([name]) => !taken.has(name))
      for (const [name, migration] of missing.sort(([a], [b]) => a < b ? -1 : 1)) {
        step = name
        yield* Effect.logDebug(`${table}: ${name}`).pipe(Effect.annotateLogs("migration", name))
        yield* migration
        yield* sql`INSERT INTO ${sql(table)} (name) VALUES (${name})`
      }
      return missing.map(([name]) => name)
    })
    // A COMMIT that fails is a defect in @effect/sql.
    return yield* sql.withTransaction(Effect.provideService(steps, SqlClient.SqlClient, sql)).pipe(
      Effect.catchTag("SqlError", failed),
      Effect.catchAllDefect(failed)
    )
  })

/** The steps of a set that have not been taken, and those that were taken and are not in it: by a newer program. */
export const status = (
  { migrations, table }: MigrationSet
): Effect.Effect<
  { readonly missing: ReadonlyArray<string>; readonly unknown: ReadonlyArray<string> },
  SqlError,
  SqlClient.SqlClient
> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}::text) IS NOT NULL AS exists`
    const rows = found?.exists === true ? yield* sql<{ readonly name: string }>`SELECT name FROM ${sql(table)}` : []
    const taken = new Set(rows.map(({ name }) => name))
    return {
      missing: Object.keys(migrations).filter((name) => !taken.has(name)).sort(),
      unknown: [...taken].filter((name) => !(name in migrations)).sort()
    }
  })

/** The steps of a set that have been taken, if there is its table: by any program. */
export const taken = (
  { table }: MigrationSet
): Effect.Effect<ReadonlyArray<string>, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const rows = yield* sql<{ readonly name: string }>`SELECT name FROM ${sql(table)}`
    return rows.map(({ name }) => name)
  })

/** Whether every step of a set has been taken: what a node needs to be ready. */
export const isComplete = (set: MigrationSet): Effect.Effect<boolean, SqlError, SqlClient.SqlClient> =>
  Effect.map(taken(set), (names) => Object.keys(set.migrations).every((name) => names.includes(name)))
