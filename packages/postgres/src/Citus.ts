/** The tables of the stores on a Citus cluster. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { settleFunction } from "./internal/settle.ts"
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
    yield* sql.unsafe(settleFunction({ prefix, isDivided: true }))
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

/** The state of a cluster. */
export interface Status {
  /** Tables that should be distributed, and are not, or by another column. */
  readonly wrong: ReadonlyArray<string>
  /** Number of distributed tables. */
  readonly distributed: number
  /** Addresses of the workers, and of those that do not answer. */
  readonly workers: ReadonlyArray<string>
  readonly unavailable: ReadonlyArray<string>
}

/** Looks at a cluster, without changes. The database must have the extension. */
export const status = (prefix: string = defaultPrefix): Effect.Effect<Status, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const tables = yield* sql<{ readonly name: string; readonly key: string | null }>`
      SELECT c.relname AS name, column_to_column_name(p.logicalrelid, p.partkey) AS key
      FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid`
    const found = new Map(tables.map(({ key, name }) => [name, key]))
    const nodes = yield* sql<{ readonly address: string; readonly answers: boolean }>`
      SELECT to_nodename || ':' || to_nodeport AS address, bool_and(coalesce(result, false)) AS answers
      FROM citus_check_cluster_node_health() WHERE to_nodeport <> 0
        AND (to_nodename, to_nodeport) IN (SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0)
      GROUP BY 1 ORDER BY 1`
    const names = Object.entries(keys).map(([table, key]) => ({ key: key ?? null, name: `${prefix}${table}` }))
    return {
      wrong: names.filter(({ key, name }) => found.get(name) !== key).map(({ name }) => name),
      distributed: names.filter(({ name }) => found.has(name)).length,
      workers: nodes.map(({ address }) => address),
      unavailable: nodes.filter(({ answers }) => !answers).map(({ address }) => address)
    }
  })
