/** The database of the service, and whether it is available. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Core from "@startlist/core/Stores"
import { StoreError } from "@startlist/core/Store"
import type { UserStore } from "@startlist/core/User"
import { Database as SqlDatabase } from "@startlist/postgres/Database"
import * as Migrations from "@startlist/postgres/Migrations"
import type * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as ServerUrl from "@startlist/postgres/ServerUrl"
import * as Users from "@startlist/postgres/Users"
import * as AccountStore from "./AccountStore.ts"
import * as AuditLog from "./AuditLog.ts"
import { type Configuration, InvalidConfiguration } from "./Configuration.ts"
import { rootMessage } from "./internal/rootMessage.ts"
import { shared } from "./internal/shared.ts"
import { type Keys, masterKeysOf } from "./Keys.ts"
import * as SqlAccountStore from "./SqlAccountStore.ts"
import * as SqlAuditLog from "./SqlAuditLog.ts"
import * as SqlTables from "./SqlTables.ts"

/** All stores. */
export type Stores = Core.Stores | UserStore | Users.Users | AccountStore.AccountStore | AuditLog.AuditLog

export class Database extends Context.Tag("@startlist/node/Database")<Database, Database.Service>() {}

export declare namespace Database {
  export interface Service {
    /** Name of the database in the start line. Contains no password. */
    readonly description: string
    /** Succeeds if the database takes writes and has this program's tables. Ends within 2 s. Cached for a second. */
    readonly check: Effect.Effect<void, StoreError>
  }
}

/** Converts an error of the database to the line that stops the start. */
export const toConfigurationError = (variable: string) => (error: Error): InvalidConfiguration => {
  const root = rootMessage(error)
  // A `StoreError` has no message of its own.
  const message = root === error.message || error instanceof StoreError ? root : `${error.message}: ${root}`
  return new InvalidConfiguration({ message: `${variable}: ${message}` })
}

/** Host and database of a URL, without user and password. */
export const describe = (url: Redacted.Redacted<string>): string =>
  `PostgreSQL ${ServerUrl.parse(Redacted.value(url))?.description ?? ""}`

/** Migrations of the stores' tables and of the service's own tables. */
export const migrations = [Migrations.startlist(), SqlTables.migrations()] as const

export interface Options {
  /** Whether to migrate the tables (default: true). */
  readonly migrate?: boolean
  /** Whether to distribute the tables over a Citus cluster, too (default: false). */
  readonly distributed?: boolean
  /** Maximum number of connections to PostgreSQL (default: 10). */
  readonly maxConnections?: number
  /** Default: true. False behind a pooler in transaction mode. */
  readonly preparedStatements?: boolean
}

/** A database that needs longer to write a row counts as unavailable. */
const patience = Duration.seconds(2)

const tooSlow = () => new StoreError({ cause: new Error("the database did not answer in time") })

/** The service's own stores, for the embedded database and for PostgreSQL. */
const layerSql = (description: string) =>
  Layer.mergeAll(
    SqlAccountStore.layer,
    SqlAuditLog.layer,
    Layer.effect(
      Database,
      Effect.gen(function*() {
        const services = yield* Effect.context<SqlClient.SqlClient | SqlDatabase>()
        const ready = Effect.forEach(migrations, Migrations.ready, { discard: true })
        const check = Effect.zipRight(ready, Migrations.writable).pipe(
          Effect.timeoutFail({ duration: patience, onTimeout: tooSlow }),
          Effect.provide(services),
          Effect.either
        )
        // At most one write per second, for any number of callers.
        return { description, check: Effect.flatten(yield* shared(check, Duration.seconds(1))) }
      })
    )
  ).pipe(Layer.provideMerge(Users.layer))

const postgresOptions = (
  url: Redacted.Redacted<string>,
  { distributed, maxConnections, migrate, preparedStatements }: Options
): Postgres.Options => ({
  url,
  maxConnections,
  preparedStatements,
  migrate,
  distributed,
  migrations: [SqlTables.migrations()]
})

const layerSeal = (keys: Keys) => Seal.layerWith(masterKeysOf(keys))

// Load only the driver that is used: both are large.
const postgres = Effect.promise(() => import("@startlist/postgres/Postgres"))
const embedded = Effect.promise(() => import("@startlist/postgres/Embedded"))

const layerPostgres = (url: Redacted.Redacted<string>, keys: Keys, options: Options) =>
  Layer.unwrapEffect(Effect.map(postgres, ({ layer }) =>
    layerSql(describe(url)).pipe(
      Layer.provideMerge(layer(postgresOptions(url, options)))
    ))).pipe(
      Layer.provideMerge(layerSeal(keys)),
      Layer.mapError(toConfigurationError("DATABASE_URL"))
    )

const layerEmbedded = (dataDir: string, keys: Keys, { migrate }: Options) =>
  Layer.unwrapEffect(
    Effect.map(embedded, ({ layerWith }) =>
      layerSql(`embedded in ${dataDir}`).pipe(
        Layer.provideMerge(layerWith({ folder: dataDir, migrate, ...SqlTables.embedded() }))
      ))
  ).pipe(
    Layer.provideMerge(layerSeal(keys)),
    Layer.mapError(toConfigurationError("DATA_DIR"))
  )

/** The database that the configuration names. Migrates its tables first, unless `migrate` is false. */
export const layer = (
  { dataDir, databaseConnections, databaseUrl, preparedStatements }: Configuration,
  keys: Keys,
  options: Options = {}
): Layer.Layer<Database | Stores | SqlDatabase | SqlClient.SqlClient | Seal.Seal, InvalidConfiguration> =>
  Option.match(databaseUrl, {
    onNone: () => layerEmbedded(dataDir, keys, options),
    onSome: (url) => layerPostgres(url, keys, { maxConnections: databaseConnections, preparedStatements, ...options })
  })
