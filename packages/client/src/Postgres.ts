/** Stores in PostgreSQL, with a pool of `pg` or any object with its `query`. */
import type { StoredEvent } from "./Events.ts"
import type { EventStore } from "./Inbox.ts"
import type { Connection, TokenStore } from "./Tokens.ts"

/** A pool of `pg`. */
export interface Pool {
  readonly query: (
    text: string,
    values?: Array<unknown>
  ) => Promise<{ readonly rows: Array<Record<string, unknown>>; readonly rowCount: number | null }>
}

/** SQL that creates the tables. You can run it repeatedly. */
export const tables = `
CREATE TABLE IF NOT EXISTS startlist_connections (
  user_key text PRIMARY KEY, revision text NOT NULL, service_user bigint NOT NULL, connection jsonb NOT NULL);
CREATE INDEX IF NOT EXISTS startlist_connections_user ON startlist_connections (service_user);
CREATE TABLE IF NOT EXISTS startlist_inbox (
  id text PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, body text, object text NOT NULL, sequence bigint,
  added_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX IF NOT EXISTS startlist_inbox_waiting ON startlist_inbox (place) WHERE body IS NOT NULL;
CREATE INDEX IF NOT EXISTS startlist_inbox_handled ON startlist_inbox (object, sequence) WHERE body IS NULL;
CREATE TABLE IF NOT EXISTS startlist_reader (
  one boolean PRIMARY KEY DEFAULT true CHECK (one), cursor text, owner text NOT NULL DEFAULT '', until bigint NOT NULL DEFAULT 0);
INSERT INTO startlist_reader DEFAULT VALUES ON CONFLICT DO NOTHING;
`

/** Tokens in PostgreSQL, after `tables` was run. */
export const postgresTokens = (pool: Pool): TokenStore => ({
  load: async (user) => {
    const { rows } = await pool.query("SELECT connection FROM startlist_connections WHERE user_key = $1", [user])
    return rows[0]?.["connection"] as Connection | undefined
  },
  save: async (user, next, before) => {
    const { rowCount } = next === undefined
      ? await pool.query("DELETE FROM startlist_connections WHERE user_key = $1 AND revision = $2", [user, before])
      : before === undefined
      ? await pool.query("INSERT INTO startlist_connections VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", [
        user,
        next.revision,
        next.userId,
        JSON.stringify(next)
      ])
      : await pool.query(
        "UPDATE startlist_connections SET revision = $2, service_user = $3, connection = $4 WHERE user_key = $1 AND revision = $5",
        [user, next.revision, next.userId, JSON.stringify(next), before]
      )
    return rowCount === 1
  },
  usersOf: async (userId) => {
    const { rows } = await pool.query("SELECT user_key FROM startlist_connections WHERE service_user = $1", [userId])
    return rows.map(({ user_key }) => String(user_key))
  }
})

/** Removes handled events that are too old: neither they nor older ones about their objects can still arrive. */
export const removeOldEvents = (pool: Pool) =>
  pool.query("DELETE FROM startlist_inbox WHERE body IS NULL AND added_at < now() - interval '60 days'")

/** `pg` returns a `bigint` as text. */
const toNumber = (value: unknown): number | undefined => value === null ? undefined : Number(value)

/** Events in PostgreSQL, after `tables` was run. */
export const postgresEvents = (pool: Pool): EventStore => ({
  add: async ({ body, id, object, sequence }) => {
    const text =
      "INSERT INTO startlist_inbox (id, body, object, sequence) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
    return (await pool.query(text, [id, body, object, sequence ?? null])).rowCount === 1
  },
  lease: async (owner, now, until) => {
    const text = "UPDATE startlist_reader SET owner = $1, until = $3 WHERE owner = $1 OR until <= $2"
    return (await pool.query(text, [owner, now, until])).rowCount === 1
  },
  waiting: async (limit, skip) => {
    const text =
      "SELECT id, body, object, sequence FROM startlist_inbox WHERE body IS NOT NULL ORDER BY place LIMIT $1 OFFSET $2"
    const { rows } = await pool.query(text, [limit, skip])
    return rows.map((row) => ({ ...row, sequence: toNumber(row["sequence"]) })) as unknown as ReadonlyArray<StoredEvent>
  },
  newest: async (object) => {
    const text = "SELECT max(sequence) AS sequence FROM startlist_inbox WHERE object = $1 AND body IS NULL"
    return toNumber((await pool.query(text, [object])).rows[0]?.["sequence"])
  },
  done: async (ids) => void await pool.query("UPDATE startlist_inbox SET body = NULL WHERE id = ANY ($1)", [ids]),
  cursor: async () => {
    const { rows } = await pool.query("SELECT cursor FROM startlist_reader")
    return (rows[0]?.["cursor"] ?? undefined) as string | undefined
  },
  keepCursor: async (cursor) => {
    await pool.query("UPDATE startlist_reader SET cursor = $1", [cursor ?? null])
  }
})
