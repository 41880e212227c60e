/** Stores in SQLite, with a database of `node:sqlite` or `better-sqlite3`. Several processes may use one file. */
import type { EventStore, StoredEvent } from "./Inbox.ts"
import type { Connection, TokenStore } from "./Tokens.ts"

type Value = string | number | null

/** A `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`. */
export interface Database {
  readonly exec: (text: string) => unknown
  readonly prepare: (text: string) => {
    readonly run: (...values: Array<Value>) => { readonly changes: number | bigint }
    readonly all: (...values: Array<Value>) => Array<unknown>
  }
}

/** SQL that creates the tables. You can run it repeatedly. */
export const tables = `
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS startlist_connections (user_key TEXT PRIMARY KEY, revision TEXT NOT NULL, connection TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS startlist_inbox (
  place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT);
CREATE TABLE IF NOT EXISTS startlist_reader (
  one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT, owner TEXT NOT NULL DEFAULT '', until INTEGER NOT NULL DEFAULT 0);
INSERT OR IGNORE INTO startlist_reader (one) VALUES (1);
`

const changes = (result: { readonly changes: number | bigint }): number => Number(result.changes)

export const sqliteTokens = (database: Database): TokenStore => ({
  load: async (user) => {
    const [row] = database.prepare("SELECT connection FROM startlist_connections WHERE user_key = ?").all(user)
    return row === undefined ? undefined : JSON.parse((row as { readonly connection: string }).connection) as Connection
  },
  save: async (user, next, before) => {
    if (next === undefined) {
      const text = "DELETE FROM startlist_connections WHERE user_key = ? AND revision = ?"
      return changes(database.prepare(text).run(user, before ?? null)) === 1
    }
    const connection = JSON.stringify(next)
    const statement = before === undefined
      ? database.prepare("INSERT OR IGNORE INTO startlist_connections VALUES (?, ?, ?)").run(
        user,
        next.revision,
        connection
      )
      : database.prepare(
        "UPDATE startlist_connections SET revision = ?, connection = ? WHERE user_key = ? AND revision = ?"
      ).run(next.revision, connection, user, before)
    return changes(statement) === 1
  }
})

export const sqliteEvents = (database: Database): EventStore => ({
  add: async ({ body, id }) =>
    changes(database.prepare("INSERT OR IGNORE INTO startlist_inbox (id, body) VALUES (?, ?)").run(id, body)) === 1,
  lease: async (owner, now, until) => {
    const text = "UPDATE startlist_reader SET owner = ?, until = ? WHERE owner = ? OR until <= ?"
    return changes(database.prepare(text).run(owner, until, owner, now)) === 1
  },
  waiting: async (limit, skip) =>
    database.prepare("SELECT id, body FROM startlist_inbox WHERE body IS NOT NULL ORDER BY place LIMIT ? OFFSET ?")
      .all(limit, skip).map((row) => row as StoredEvent),
  done: async (ids) => {
    const statement = database.prepare("UPDATE startlist_inbox SET body = NULL WHERE id = ?")
    for (const id of ids) statement.run(id)
  },
  cursor: async () => {
    const [row] = database.prepare("SELECT cursor FROM startlist_reader").all()
    return (row as { readonly cursor: string | null } | undefined)?.cursor ?? undefined
  },
  keepCursor: async (cursor) => {
    database.prepare("UPDATE startlist_reader SET cursor = ?").run(cursor ?? null)
  }
})
