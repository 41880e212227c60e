/** Stores in SQLite, with a database of `node:sqlite` or `better-sqlite3`. Several processes may use one file. */
import type { StoredEvent } from "./Events.ts"
import type { EventStore } from "./Inbox.ts"
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
PRAGMA busy_timeout = 5000;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS startlist_connections (
  user_key TEXT PRIMARY KEY, revision TEXT NOT NULL, service_user INTEGER NOT NULL, connection TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS startlist_connections_user ON startlist_connections (service_user);
CREATE TABLE IF NOT EXISTS startlist_inbox (
  place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT, object TEXT NOT NULL, sequence INTEGER,
  added_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX IF NOT EXISTS startlist_inbox_handled ON startlist_inbox (object, sequence) WHERE body IS NULL;
CREATE TABLE IF NOT EXISTS startlist_reader (
  one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT, owner TEXT NOT NULL DEFAULT '', until INTEGER NOT NULL DEFAULT 0);
INSERT OR IGNORE INTO startlist_reader (one) VALUES (1);
`

const changes = (result: { readonly changes: number | bigint }): number => Number(result.changes)

/** Lets statements wait for those of other processes. Otherwise `node:sqlite` fails immediately if the file is locked. */
const waiting = (database: Database): Database => {
  const [row] = database.prepare("PRAGMA busy_timeout").all()
  if ((row as { readonly timeout: number }).timeout === 0) database.exec("PRAGMA busy_timeout = 5000")
  return database
}

/** Tokens in SQLite, after `tables` was run. */
export const sqliteTokens = (database: Database): TokenStore => tokensIn(waiting(database))

const tokensIn = (database: Database): TokenStore => ({
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
      ? database.prepare("INSERT OR IGNORE INTO startlist_connections VALUES (?, ?, ?, ?)").run(
        user,
        next.revision,
        next.userId,
        connection
      )
      : database.prepare(
        "UPDATE startlist_connections SET revision = ?, service_user = ?, connection = ? WHERE user_key = ? AND revision = ?"
      ).run(next.revision, next.userId, connection, user, before)
    return changes(statement) === 1
  },
  usersOf: async (userId) =>
    database.prepare("SELECT user_key FROM startlist_connections WHERE service_user = ?").all(userId)
      .map((row) => (row as { readonly user_key: string }).user_key)
})

/** Removes handled events that are too old: neither they nor older ones about their objects can still arrive. */
export const removeOldEvents = (database: Database) =>
  database.prepare("DELETE FROM startlist_inbox WHERE body IS NULL AND added_at < datetime('now', '-60 days')").run()

/** Events in SQLite, after `tables` was run. */
export const sqliteEvents = (database: Database): EventStore => eventsIn(waiting(database))

const eventsIn = (database: Database): EventStore => ({
  add: async ({ body, id, object, sequence }) => {
    const text = "INSERT OR IGNORE INTO startlist_inbox (id, body, object, sequence) VALUES (?, ?, ?, ?)"
    return changes(database.prepare(text).run(id, body, object, sequence ?? null)) === 1
  },
  lease: async (owner, now, until) => {
    const text = "UPDATE startlist_reader SET owner = ?, until = ? WHERE owner = ? OR until <= ?"
    return changes(database.prepare(text).run(owner, until, owner, now)) === 1
  },
  waiting: async (limit, skip) =>
    database.prepare(
      "SELECT id, body, object, sequence FROM startlist_inbox WHERE body IS NOT NULL ORDER BY place LIMIT ? OFFSET ?"
    ).all(limit, skip).map((row) => {
      const { sequence, ...event } = row as Omit<StoredEvent, "sequence"> & { readonly sequence: number | null }
      return { ...event, sequence: sequence ?? undefined }
    }),
  newest: async (object) => {
    const text = "SELECT max(sequence) AS sequence FROM startlist_inbox WHERE object = ? AND body IS NULL"
    const [row] = database.prepare(text).all(object)
    return (row as { readonly sequence: number | null } | undefined)?.sequence ?? undefined
  },
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
