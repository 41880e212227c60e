/** The tables in hash partitions, by the columns by which several servers would share them. */
import { Effect } from "effect"
import type { Pool } from "pg"
import * as Citus from "../../src/internal/dialect/citus.ts"
import { settleFunction } from "../../src/internal/queue.ts"
import { literal, type Recorded } from "./plans.ts"

/** The number of partitions of each table. */
export const modulus = 4

/** The column by which each table is divided: grants by user, everything about deliveries by application. */
export const keys = { grants: "user_id", subscriptions: "application_id", deliveries: "application_id" } as const

/** Divides empty tables. Settings and indexes are those of the migrations. */
export const divide = (admin: Pool): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (const [name, key] of Object.entries(keys)) await admin.query(text(`startlist_${name}`, key))
    await admin.query(settleFunction(Citus.make("startlist_", modulus)))
  })

const text = (table: string, key: string) =>
  `DO $$
DECLARE
  indexes text[] := ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '${table}'::regclass);
  settings text[] := (SELECT reloptions FROM pg_class WHERE oid = '${table}'::regclass);
  definition text;
BEGIN
  ALTER TABLE ${table} RENAME TO whole;
  CREATE TABLE ${table} (LIKE whole INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY HASH (${key});
  DROP TABLE whole;
  FOR part IN 0..${modulus - 1} LOOP
    EXECUTE format('CREATE TABLE ${table}_%s PARTITION OF ${table} FOR VALUES WITH (MODULUS ${modulus}, REMAINDER %s)',
      part, part);
    IF settings IS NOT NULL THEN
      EXECUTE format('ALTER TABLE ${table}_%s SET (%s)', part, array_to_string(settings, ', '));
    END IF;
  END LOOP;
  FOREACH definition IN ARRAY indexes LOOP
    EXECUTE replace(definition, ' ON ONLY ', ' ON ');
  END LOOP;
END
$$`

/** The partition of a key. */
export const partitionOf = (admin: Pool, table: keyof typeof keys, key: number): Effect.Effect<string> =>
  Effect.promise(async () => {
    const { rows } = await admin.query(
      `SELECT n FROM generate_series(0, ${modulus - 1}) n
        WHERE satisfies_hash_partition('startlist_${table}'::regclass, ${modulus}, n, $1::bigint)`,
      [key]
    )
    return `startlist_${table}_${rows[0].n}`
  })

const isPartition = new RegExp(`^startlist_(${Object.keys(keys).join("|")})_\\d+$`)

/** The partitions that an executed plan has read. */
export const readBy = (plan: unknown): ReadonlyArray<string> => {
  if (Array.isArray(plan)) return plan.flatMap(readBy)
  if (typeof plan !== "object" || plan === null) return []
  const node: Readonly<Record<string, unknown>> = { ...plan }
  const name = String(node["Relation Name"])
  const isRead = isPartition.test(name) && String(node["Node Type"]).endsWith("Scan") &&
    Number(node["Actual Loops"]) > 0
  return [...isRead ? [name] : [], ...Object.values(node).flatMap(readBy)]
}

/**
 * Executes a statement with its plan for all values, and takes it back. Returns the partitions that it has read. It looks rows
 * up by their keys, as in large partitions: small ones would be read and joined as a whole.
 */
export const read = (
  admin: Pool,
  { parameters, statement }: Recorded
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    const client = await admin.connect()
    try {
      await client.query(`BEGIN; SET LOCAL plan_cache_mode = force_generic_plan;
        SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`)
      await client.query(`PREPARE q AS ${statement.text}`)
      const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE q${values}`)
      return [...new Set(readBy(rows))].sort()
    } finally {
      await client.query("ROLLBACK; DEALLOCATE ALL")
      client.release()
    }
  })
