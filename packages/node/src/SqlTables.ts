/** The service's own tables, beside those of the stores: passwords, sessions, audit. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { defaultPrefix, type MigrationSet } from "@startlist/postgres/Migrations"

/** `0001`: everything. Instants are whole milliseconds since 1970; passwords and sessions are kept as hashes only. */
const initial = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE ${p}passwords (
    user_id bigint PRIMARY KEY,
    hash text NOT NULL
  )`,
  `CREATE TABLE ${p}sessions (
    hash text COLLATE "C" PRIMARY KEY,
    user_id bigint NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
  )`,
  `CREATE INDEX ${p}sessions_started ON ${p}sessions (started_at)`,
  `CREATE INDEX ${p}sessions_seen ON ${p}sessions (seen_at)`,
  `CREATE TABLE ${p}audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    action text NOT NULL,
    actor json NOT NULL,
    subject json NOT NULL,
    address text NOT NULL,
    detail text NOT NULL
  )`,
  `CREATE INDEX ${p}audit_at ON ${p}audit (at)`
]

/** What brings these tables up to date. `prefix` stands in front of every table name. */
export const migrations = (prefix: string = defaultPrefix): MigrationSet => ({
  table: `${prefix}service_migrations`,
  migrations: {
    "0001_initial": Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => Effect.forEach(initial(prefix), (text) => sql.unsafe(text), { discard: true })
    )
  }
})
