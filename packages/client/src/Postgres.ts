/** Stores in PostgreSQL, with a pool of `pg` or any object with its `query`. */
import type { EventStore, StoredEvent } from "./Inbox.ts"
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
CREATE TABLE IF NOT EXISTS startlist_connections (user_key text PRIMARY KEY, revision text NOT NULL, connection jsonb NOT NULL);
CREATE TABLE IF NOT EXISTS startlist_inbox (
  id text PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, body text,
  added_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX IF NOT EXISTS startlist_inbox_waiting ON startlist_inbox (place) WHERE body IS NOT NULL;
CREATE TABLE IF NOT EXISTS startlist_reader (
  one boolean PRIMARY KEY DEFAULT true CHECK (one), cursor text, owner text NOT NULL DEFAULT '', until bigint NOT NULL DEFAULT 0);
INSERT INTO startlist_reader DEFAULT VALUES ON CONFLICT DO NOTHING;
`

export const postgresTokens = (pool: Pool): TokenStore => ({
  load: async (user) => {
    const { rows } = await pool.query("SELECT connection FROM startlist_connections WHERE user_key = $1", [user])
    return rows[0]?.["connection"] as Connection | undefined
  },
  save: async (user, next, before) => {
    const { rowCount } = next === undefined
      ? await pool.query("DELETE FROM startlist_connections WHERE user_key = $1 AND revision = $2", [user, before])
      : before === undefined
      ? await pool.query("INSERT INTO startlist_connections VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
        user,
        next.revision,
        JSON.stringify(next)
      ])
      : await pool.query(
        "UPDATE startlist_connections SET revision = $2, connection = $3 WHERE user_key = $1 AND revision = $4",
        [user, next.revision, JSON.stringify(next), before]
      )
    return rowCount === 1
  }
})

/** Removes identifiers of handled events that are too old to be repeated. */
export const removeOldEvents = (pool: Pool) =>
  pool.query("DELETE FROM startlist_inbox WHERE body IS NULL AND added_at < now() - interval '60 days'")

export const postgresEvents = (pool: Pool): EventStore => ({
  add: async ({ body, id }) => {
    const text = "INSERT INTO startlist_inbox (id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING"
    return (await pool.query(text, [id, body])).rowCount === 1
  },
  lease: async (owner, now, until) => {
    const text = "UPDATE startlist_reader SET owner = $1, until = $3 WHERE owner = $1 OR until <= $2"
    return (await pool.query(text, [owner, now, until])).rowCount === 1
  },
  waiting: async (limit, skip) => {
    const text = "SELECT id, body FROM startlist_inbox WHERE body IS NOT NULL ORDER BY place LIMIT $1 OFFSET $2"
    return (await pool.query(text, [limit, skip])).rows as unknown as ReadonlyArray<StoredEvent>
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
