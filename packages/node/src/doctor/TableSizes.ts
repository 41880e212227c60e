/** The use of space in the database: the largest tables, and the oldest rows of those that are purged. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Citus from "@startlist/postgres/Citus"
import { Database } from "@startlist/postgres/Database"
import { type Finding, good } from "./Finding.ts"

/** Number of tables that are shown. */
const shown = 4

const units = ["B", "KiB", "MiB", "GiB", "TiB"]

/** A size such as `1.5 GiB`. */
const sizeOf = (bytes: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${Math.round(bytes / 1024 ** power * 10) / 10} ${units[power]}`
}

const dayOf = (millis: string | number | null): string =>
  millis === null ? "none" : DateTime.formatIsoDateUtc(DateTime.unsafeMake(Number(millis)))

/** Sizes include indexes. On a cluster, those of all servers. */
export const checkSizes = Effect.gen(function*() {
  const { prefix: p, query } = yield* Database
  const isCluster = yield* Citus.isInstalled
  const size = isCluster
    ? "CASE WHEN d.logicalrelid IS NULL THEN pg_total_relation_size(c.oid) ELSE citus_total_relation_size(c.oid) END"
    : "pg_total_relation_size(c.oid)"
  const tables = yield* query<{ readonly name: string; readonly bytes: number }>(
    {
      name: `${p}doctor_sizes${isCluster ? "_cluster" : ""}`,
      text: `SELECT substr(c.relname, ${p.length + 1}) AS name, (${size})::double precision AS bytes
        FROM pg_class c ${isCluster ? "LEFT JOIN pg_dist_partition d ON d.logicalrelid = c.oid" : ""}
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND starts_with(c.relname, $1::text)
        ORDER BY bytes DESC LIMIT ${shown}`
    },
    [p]
  )
  const [oldest] = yield* query<{ readonly delivery: string | null; readonly entry: string | null }>(
    {
      name: `${p}doctor_oldest`,
      text: `SELECT (SELECT min(ended_at) FROM ${p}deliveries) AS delivery, (SELECT min(at) FROM ${p}audit) AS entry`
    },
    []
  )
  const sizes = tables.map(({ bytes, name }) => `${name} ${sizeOf(bytes)}`).join(", ")
  const dates = `oldest past delivery: ${dayOf(oldest?.delivery ?? null)}, oldest audit entry: ${
    dayOf(oldest?.entry ?? null)
  }`
  return good("size", `${sizes}; ${dates}`)
}) satisfies Effect.Effect<Finding, unknown, unknown>
