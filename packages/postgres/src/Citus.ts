/** The tables of the stores on a Citus cluster. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { SqlError } from "@effect/sql/SqlError"
import * as Dialect from "./internal/dialect/citus.ts"
import { settleFunction } from "./internal/queue.ts"
import { defaultPrefix, MigrationError } from "./Migrations.ts"

/**
 * By which column each table is distributed; by none if every server has all its rows. Grants by user: a refresh and a
 * bearer check concern one shard. Subscriptions and deliveries by application, on the same servers. All other tables stay
 * on the coordinator.
 */
const keys = {
  applications: undefined,
  grants: "user_id",
  subscriptions: "application_id",
  deliveries: "application_id"
} as const

type Table = keyof typeof keys

const calls = (p: string): Readonly<Record<Table, string>> => ({
  applications: `create_reference_table('${p}applications')`,
  grants: `create_distributed_table('${p}grants', '${keys.grants}', colocate_with => 'none')`,
  subscriptions: `create_distributed_table('${p}subscriptions', '${keys.subscriptions}', colocate_with => 'none')`,
  deliveries: `create_distributed_table('${p}deliveries', '${keys.deliveries}', colocate_with => '${p}subscriptions')`
})

/** Whether the database has the extension. */
export const isInstalled: Effect.Effect<boolean, SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  return (yield* sql`SELECT FROM pg_extension WHERE extname = 'citus'`).length > 0
})

/**
 * Distributes the tables with their rows. No node may run in the meantime. Tables that are distributed already stay as they are,
 * so it goes on after an interruption when it is run again.
 */
export const distribute = (
  prefix: string = defaultPrefix
): Effect.Effect<void, MigrationError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    if (!(yield* isInstalled)) {
      return yield* new MigrationError({ reason: "failed", step: "it has no extension citus" })
    }
    // First: it also settles in tables that are not divided yet, and no interruption leaves divided tables without it.
    yield* sql.unsafe(settleFunction(Dialect.make(prefix, 0)))
    for (const [table, call] of Object.entries(calls(prefix))) {
      const name = `${prefix}${table}`
      const isDone = yield* sql`SELECT FROM pg_dist_partition WHERE logicalrelid = ${name}::regclass`
      if (isDone.length > 0) continue
      yield* Effect.logDebug(`${name}: distributed`).pipe(Effect.annotateLogs("migration", name))
      yield* sql.unsafe(`SELECT ${call}`)
    }
  }).pipe(
    Effect.catchTag("SqlError", (cause) => new MigrationError({ reason: "failed", step: "distribution", cause }))
  )

/** A worker of a cluster. */
export interface Worker {
  /** Host and port. */
  readonly address: string
  /** Whether the coordinator has a connection to it within two seconds. */
  readonly answers: boolean
}

/** Maximum duration of one check. Citus itself waits for `citus.node_connection_timeout`, 30 seconds by default. */
const patience = Duration.seconds(2)

/** The workers, by address. The database must have the extension. */
export const workers: Effect.Effect<ReadonlyArray<Worker>, SqlError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = (yield* SqlClient.SqlClient).withoutTransforms()
  const nodes = yield* sql<{ readonly host: string; readonly port: number }>`
    SELECT nodename AS host, nodeport AS port FROM pg_dist_node
    WHERE groupid > 0 AND noderole = 'primary' ORDER BY nodename, nodeport`
  const check = ({ host, port }: typeof nodes[number]) =>
    sql<{ readonly answers: boolean }>`SELECT citus_check_connection_to_node(${host}, ${port}) AS answers`.pipe(
      Effect.timeoutTo({
        duration: patience,
        onSuccess: ([row]) => row?.answers === true,
        onTimeout: () => false
      }),
      Effect.map((answers) => ({ address: `${host}:${port}`, answers }))
    )
  return yield* Effect.forEach(nodes, check, { concurrency: 4 })
})

/** The state of a cluster. */
export interface Status {
  /** Tables that should be distributed, and are not, or by another column. */
  readonly wrong: ReadonlyArray<string>
  /** Number of distributed tables. */
  readonly distributed: number
  readonly workers: ReadonlyArray<Worker>
}

/** Looks at a cluster, without changes. The database must have the extension. */
export const status = (prefix: string = defaultPrefix): Effect.Effect<Status, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const tables = yield* sql<{ readonly name: string; readonly key: string | null }>`
      SELECT c.relname AS name, column_to_column_name(p.logicalrelid, p.partkey) AS key
      FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid`
    const found = new Map(tables.map(({ key, name }) => [name, key]))
    const names = Object.entries(keys).map(([table, key]) => ({ key: key ?? null, name: `${prefix}${table}` }))
    return {
      wrong: names.filter(({ key, name }) => found.get(name) !== key).map(({ name }) => name),
      distributed: names.filter(({ name }) => found.has(name)).length,
      workers: yield* workers
    }
  })
