/** The stores of the service, on the database that the configuration names. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ImportStore } from "@startlist/core/ImportStore"
import type * as Core from "@startlist/core/Services"
import { StoreError } from "@startlist/core/Store"
import type { UserStore } from "@startlist/core/User"
import type { Database } from "@startlist/postgres/Database"
import type * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as ServerUrl from "@startlist/postgres/ServerUrl"
import * as Users from "@startlist/postgres/Users"
import * as AccountStore from "../accounts/AccountStore.ts"
import { type Configuration, InvalidConfiguration } from "../settings/Configuration.ts"
import { rootMessage } from "../telemetry/Log.ts"
import * as AuditLog from "./AuditLog.ts"
import * as DatabaseHealth from "./DatabaseHealth.ts"
import { type Keys, masterKeysOf } from "./Keys.ts"
import * as ServiceTables from "./ServiceTables.ts"

/** All stores. */
export type Stores = Core.Stores | ImportStore | UserStore | Users.Users | AccountStore.AccountStore | AuditLog.AuditLog

/** Converts an error of the database to the line that stops the start. */
export const toConfigurationError = (variable: string) => (error: Error): InvalidConfiguration => {
  const root = rootMessage(error)
  // A `StoreError` has no message of its own.
  const message = root === error.message || error instanceof StoreError ? root : `${error.message}: ${root}`
  return new InvalidConfiguration({ message: `${variable}: ${message}` })
}

/** A file that the URL names cannot be read. */
class UnreadableUrl extends Data.TaggedError("@startlist/node/UnreadableUrl")<{ readonly message: string }> {}

/** Host and database of a URL, without user and password. */
export const describe = (url: Redacted.Redacted<string>): string =>
  `PostgreSQL ${ServerUrl.parse(Redacted.value(url))?.description ?? ""}`

/** How to open a database. */
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

/** The service's own stores, for the embedded database and for PostgreSQL. */
const layerSql = (description: string) =>
  Layer.mergeAll(
    AccountStore.layer,
    AuditLog.layer,
    Layer.effect(DatabaseHealth.DatabaseHealth, DatabaseHealth.make(description))
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
  migrations: [ServiceTables.migrations()]
})

const layerSeal = (keys: Keys) => Seal.layerWith(masterKeysOf(keys))

// Load only the driver that is used: both are large.
const postgres = Effect.promise(() => import("@startlist/postgres/Postgres"))
const embedded = Effect.promise(() => import("@startlist/postgres/Embedded"))

const layerPostgres = (url: Redacted.Redacted<string>, keys: Keys, options: Options) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const unreadable = ServerUrl.whyUnreadable(Redacted.value(url))
    if (unreadable !== undefined) return yield* new UnreadableUrl({ message: unreadable })
    const { layer } = yield* postgres
    return layerSql(describe(url)).pipe(Layer.provideMerge(layer(postgresOptions(url, options))))
  })).pipe(
    Layer.provideMerge(layerSeal(keys)),
    Layer.mapError(toConfigurationError("DATABASE_URL"))
  )

const layerEmbedded = (dataDir: string, keys: Keys, { migrate }: Options) =>
  Layer.unwrapEffect(
    Effect.map(embedded, ({ layerWith }) =>
      layerSql(`embedded in ${dataDir}`).pipe(
        Layer.provideMerge(layerWith({ folder: dataDir, migrate, ...ServiceTables.embedded() }))
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
): Layer.Layer<
  DatabaseHealth.DatabaseHealth | Stores | Database | SqlClient.SqlClient | Seal.Seal,
  InvalidConfiguration
> =>
  Option.match(databaseUrl, {
    onNone: () => layerEmbedded(dataDir, keys, options),
    onSome: (url) => layerPostgres(url, keys, { maxConnections: databaseConnections, preparedStatements, ...options })
  })
