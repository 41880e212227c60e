/** The tables in hash partitions, by the columns by which several servers would share them. */
import { Effect } from "effect"
import type { Pool } from "pg"

/** The number of partitions of each table. */
export const modulus = 4

/** The column by which each table is divided: grants by user, everything about deliveries by application. */
export const keys = { grants: "user_id", subscriptions: "application_id", deliveries: "application_id" } as const

/** Divides empty tables. Settings and indexes are those of the migrations. */
export const divide = (admin: Pool): Effect.Effect<void> =>
  Effect.forEach(
    Object.entries(keys),
    ([name, key]) => Effect.promise(() => admin.query(text(`startlist_${name}`, key))),
    { discard: true }
  )

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
