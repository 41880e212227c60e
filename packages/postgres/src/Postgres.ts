/** The stores of Startlist on PostgreSQL 15 or later, any number of nodes on one database. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { SqlError } from "@effect/sql/SqlError"
import type { ImportStore } from "@startlist/core/ImportStore"
import type { Stores } from "@startlist/core/Services"
import type { StoreError } from "@startlist/core/Store"
import { randomUUID } from "node:crypto"
import * as Citus from "./Citus.ts"
import type { Connection } from "./internal/connection.ts"
import * as Pool from "./internal/pool.ts"
import * as stores from "./internal/stores.ts"
import * as Migrations from "./Migrations.ts"
import { Database, make as makeDatabase, makeWakeUps } from "./Database.ts"
import type { Seal } from "./Seal.ts"

/** Connection to the database, and migrations. */
export interface Options extends Connection {
  /** Prefix of every table name (default: `startlist_`). The schema is the first of the connection's search path. */
  readonly prefix?: string | undefined
  /** Whether to migrate the tables at the start (default: true). If false, run `Migrations.run` before. */
  readonly migrate?: boolean | undefined
  /**
   * Whether to distribute the tables over a Citus cluster after the migrations (default: false). The database is then that
   * of the coordinator. Stop all nodes before.
   */
  readonly distributed?: boolean | undefined
  /** Further migrations, to run with ours. */
  readonly migrations?: ReadonlyArray<Migrations.MigrationSet> | undefined
}

/** The services of the layers: the stores, and a client with the same pool for your own tables. */
export type Provided = Stores | ImportStore | Database | SqlClient.SqlClient

const live = Effect.withClock(Clock.make())

/** Runs the migrations of Startlist and `options.migrations` on a separate connection. */
export const migrate = (options: Options): Effect.Effect<void, Migrations.MigrationError | SqlError> =>
  Effect.forEach(
    [Migrations.startlist(options.prefix), ...options.migrations ?? []],
    Migrations.run,
    { discard: true }
  ).pipe(
    Effect.zipRight(options.distributed === true ? Citus.distribute(options.prefix) : Effect.void),
    Effect.provide(PgClient.layerFromPool({ acquire: Pool.makePatient(options) }))
  )

/** The number of parts of a table: partitions, or shards on the servers of a cluster. 0 if it is not divided. */
const partsOf = (direct: Database.Direct, table: string): Effect.Effect<number, SqlError> => {
  const count = (text: string, value: string) =>
    Effect.map(
      direct({ name: "", text: `SELECT count(*)::integer AS count FROM ${text}` }, [value]),
      ([row]): number => row?.count ?? 0
    )
  return Effect.gen(function*() {
    const partitions = yield* count(
      "pg_inherits JOIN pg_partitioned_table ON partrelid = inhparent WHERE inhparent = to_regclass($1::text)",
      table
    )
    if (partitions > 0 || (yield* count("pg_extension WHERE extname = $1::text", "citus")) === 0) return partitions
    return yield* count("pg_dist_shard WHERE logicalrelid = to_regclass($1::text)", table)
  }).pipe(
    // The first statement of a start without migrations: what it says of the database is all there is to say.
    Effect.mapError(({ cause }) => new SqlError({ cause, message: cause instanceof Error ? cause.message : "" }))
  )
}

const context = (
  options: Options
): Effect.Effect<
  Context.Context<Database | SqlClient.SqlClient | PgClient.PgClient>,
  Migrations.MigrationError | SqlError,
  Scope.Scope
> =>
  Effect.gen(function*() {
    if (options.migrate ?? true) yield* migrate(options)
    const prefix = options.prefix ?? Migrations.defaultPrefix
    const pool = yield* Pool.make(options)
    const sql = yield* PgClient.fromPool({ acquire: Effect.succeed(pool) })
    const isOurs = options.preparedStatements ?? true
    const direct = Pool.direct(pool, isOurs)
    const channel = `${prefix}deliveries`
    const node = randomUUID()
    const notify = { name: `${prefix}notify`, text: "SELECT pg_notify($1::text, $2::text)" }
    const { heard, wake, wakeUps } = yield* makeWakeUps(direct(notify, [channel, node]))
    const listening = Pool.listen(options, channel, (from) => from === node ? undefined : heard())
    const reaching = Effect.suspend(() => pool.isWaiting ? Pool.reach(options) : Effect.void).pipe(
      Effect.repeat(Schedule.spaced(Pool.pulseMillis))
    )
    const watching = (isOurs ? listening : reaching).pipe(
      Effect.tapError(() => Effect.sync(() => pool.lose())),
      Effect.retry(Schedule.union(
        Schedule.jittered(Schedule.exponential("100 millis")),
        Schedule.spaced("5 seconds")
      )),
      live
    )
    yield* Effect.forkScoped(watching)
    const connections = Effect.sync(() => ({
      open: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount
    }))
    const shardCount = yield* partsOf(direct, `${prefix}grants`)
    const database = makeDatabase({ sql, prefix, shardCount, direct, wake, wakeUps, connections })
    return Context.make(Database, database).pipe(
      Context.add(SqlClient.SqlClient, sql),
      Context.add(PgClient.PgClient, sql)
    )
  }).pipe(Effect.provide(Reactivity.layer))

/** The stores in the database of `options.url`. Migrates the tables first. */
export const layer = (
  options: Options
): Layer.Layer<Provided | PgClient.PgClient, Migrations.MigrationError | SqlError, Seal> =>
  Layer.provideMerge(stores.layer, Layer.scopedContext(context(options)))

/**
 * The stores with the embedder's own client, without our pool: no prepared statements, and other nodes find new
 * deliveries only when they poll. `Migrations.run` creates the tables. They must not be distributed.
 */
export const layerClient = (
  options: { readonly prefix?: string | undefined } = {}
): Layer.Layer<Stores | ImportStore | Database, never, SqlClient.SqlClient | Seal> =>
  Layer.provideMerge(
    stores.layer,
    Layer.scoped(
      Database,
      Effect.gen(function*() {
        const sql = (yield* SqlClient.SqlClient).withoutTransforms()
        const { wake, wakeUps } = yield* makeWakeUps(Effect.void)
        return makeDatabase({
          sql,
          prefix: options.prefix ?? Migrations.defaultPrefix,
          direct: ({ text }, parameters) => sql.unsafe(text, parameters).withoutTransform,
          wake,
          wakeUps
        })
      })
    )
  )

/** Fails if the database is unavailable, or the tables are not up to date. Ends within five seconds. */
export const ready: Effect.Effect<void, StoreError, Database | SqlClient.SqlClient> = Effect.flatMap(
  Database,
  ({ prefix }) => Migrations.ready(Migrations.startlist(prefix))
)
