/** The database that this service keeps everything in, and whether it answers. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Memory from "@startlist/core/Memory"
import type { StoreError } from "@startlist/core/Store"
import { Database as SqlDatabase } from "@startlist/postgres/Database"
import * as Embedded from "@startlist/postgres/Embedded"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as AccountStore from "./AccountStore.ts"
import * as AuditLog from "./AuditLog.ts"
import { type Configuration, InvalidConfiguration } from "./Configuration.ts"
import type { Keys } from "./Keys.ts"
import * as SqlAccountStore from "./SqlAccountStore.ts"
import * as SqlAuditLog from "./SqlAuditLog.ts"
import * as SqlTables from "./SqlTables.ts"

/** Everything that is kept. */
export type Stores = Memory.Stores | AccountStore.AccountStore | AuditLog.AuditLog

export class Database extends Context.Tag("@startlist/node/Database")<Database, Database.Service>() {}

export declare namespace Database {
  export interface Service {
    /** What the start line says of it. Contains no password. */
    readonly description: string
    /** Succeeds if the database answers and has this program's tables. */
    readonly check: Effect.Effect<void, StoreError>
  }
}

/** The innermost reason, which the driver knows: `connect ECONNREFUSED 127.0.0.1:5432`. */
const rootMessage = (error: unknown): string => {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  if (inner instanceof AggregateError && inner.errors.length > 0) return rootMessage(inner.errors[0])
  return inner instanceof Error ? inner.message : String(inner)
}

/** Why the database cannot be used, as the line that stops the start. */
export const toConfigurationError = (variable: string) => (error: Error): InvalidConfiguration => {
  const root = rootMessage(error)
  const message = root === error.message ? root : `${error.message}: ${root}`
  return new InvalidConfiguration({ message: `${variable}: ${message}` })
}

/** Host and database of a URL, without user and password. */
const describe = (url: string): string => {
  const { host, pathname } = new URL(url)
  return `PostgreSQL ${host}${pathname}`
}

/** What the embedded and the real database have in common: the service's own stores over theirs. */
const layerSql = (description: string) =>
  Layer.mergeAll(
    SqlAccountStore.layer,
    SqlAuditLog.layer,
    Layer.effect(
      Database,
      Effect.map(SqlDatabase, (database) => ({
        description,
        check: Effect.provideService(Postgres.ready, SqlDatabase, database)
      }))
    )
  )

/** How the stores of `DATABASE_URL` are opened. */
const postgresOptions = (url: Redacted.Redacted<string>): Postgres.Options => ({
  url,
  migrations: [SqlTables.migrations()]
})

const layerPostgres = (url: Redacted.Redacted<string>, keys: Keys) =>
  layerSql(describe(Redacted.value(url))).pipe(
    Layer.provideMerge(Postgres.layerWith(postgresOptions(url))),
    Layer.provide(Seal.layerWith({ key: keys.masterKey })),
    Layer.mapError(toConfigurationError("DATABASE_URL"))
  )

const layerEmbedded = (dataDir: string, keys: Keys) =>
  layerSql(`embedded in ${dataDir}`).pipe(
    Layer.provideMerge(Embedded.layerWith({ folder: dataDir, migrations: [SqlTables.migrations()] })),
    Layer.provide(Seal.layerWith({ key: keys.masterKey })),
    Layer.mapError(toConfigurationError("DATA_DIR"))
  )

/** The database that the configuration names; its tables are brought up to date first. */
export const layer = (
  { dataDir, databaseUrl }: Configuration,
  keys: Keys
): Layer.Layer<Database | Stores | SqlDatabase, InvalidConfiguration> =>
  Option.match(databaseUrl, {
    onNone: () => layerEmbedded(dataDir, keys),
    onSome: (url) => layerPostgres(url, keys)
  })
