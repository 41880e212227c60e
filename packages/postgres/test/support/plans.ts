/** Records the statements of the stores and their plans. */
import { Database, Users } from "@startlist/postgres"
import { Effect, Layer } from "effect"
import type { Pool } from "pg"
import * as stores from "../../src/internal/stores.ts"

export interface Recorded {
  readonly statement: Database.Statement
  readonly parameters: ReadonlyArray<Database.Parameter>
}

/** The stores with a database that records its statements. */
export const recording = (database: Database.Database["Type"], recorded: Map<string, Recorded>) =>
  Layer.provide(
    Layer.merge(stores.layer, Users.layer),
    Layer.succeed(Database.Database, {
      ...database,
      query: (statement, parameters) => {
        recorded.set(statement.name, { statement, parameters })
        return database.query(statement, parameters)
      }
    })
  )

/** A parameter as SQL text. */
export const literal = (value: Database.Parameter) =>
  value === null ? "NULL" : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value)

/** The first column of each index. Without a condition on it, the whole index is scanned. */
export const firstColumns = (admin: Pool): Effect.Effect<ReadonlyMap<string, string>> =>
  Effect.promise(async () => {
    const { rows } = await admin.query(`SELECT c.relname AS index, pg_get_indexdef(i.indexrelid, 1, false) AS first
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = current_schema()::regnamespace`)
    return new Map(rows.map(({ first, index }) => [index, /[a-z_]+/.exec(first)?.[0] ?? ""]))
  })

/** The tables and indexes that a plan scans completely. */
export const scannedBy = (firsts: ReadonlyMap<string, string>) => {
  const own = (node: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
    if (node["Node Type"] === "Seq Scan") return [String(node["Relation Name"])]
    const first = firsts.get(String(node["Index Name"]))
    const isWhole = first !== undefined && "Index Cond" in node &&
      !new RegExp(`\\b${first}\\b`).test(String(node["Index Cond"]))
    return isWhole ? [String(node["Index Name"])] : []
  }
  const scanned = (plan: unknown): ReadonlyArray<string> => {
    if (Array.isArray(plan)) return plan.flatMap(scanned)
    if (typeof plan !== "object" || plan === null) return []
    return [...own({ ...plan }), ...Object.values(plan).flatMap(scanned)]
  }
  return scanned
}

/** The sum of a figure over all nodes of a plan. */
const sumOf = (figure: (node: Readonly<Record<string, unknown>>) => number) => {
  const sum = (plan: unknown): number => {
    if (Array.isArray(plan)) return plan.reduce((total: number, part) => total + sum(part), 0)
    if (typeof plan !== "object" || plan === null) return 0
    const node: Readonly<Record<string, unknown>> = { ...plan }
    return figure(node) + sum(Object.values(node))
  }
  return sum
}

/** Number of deliveries that a plan has read. */
export const touched = sumOf((node) =>
  node["Relation Name"] === "startlist_deliveries" && String(node["Node Type"]).includes("Scan")
    ? (Number(node["Actual Rows"]) + Number(node["Rows Removed by Filter"] ?? 0)) * Number(node["Actual Loops"])
    : 0
)

/** Number of pairs of rows that a plan has compared without a match, because it joins without index and order. */
export const compared = sumOf((node) =>
  "Rows Removed by Join Filter" in node
    ? Number(node["Rows Removed by Join Filter"]) * Number(node["Actual Loops"])
    : 0
)
