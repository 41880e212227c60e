/** One SQLite database: its tables, and its statements as Effects. */
import { Store } from "@startlist/core"
import { Effect, Schema } from "effect"
import sqlite, { type BindValues, type Database } from "node-sqlite3-wasm"

/**
 * Each row has the whole record as JSON, beside its key and the columns that statements search by.
 *
 * `autoincrement` is not decoration: without it SQLite gives the identifier of a removed row to the next one, and no
 * identifier may be used twice.
 */
export const tables = `
  create table if not exists applications (
    id integer primary key autoincrement, version integer not null, record text not null, first_secret text unique);
  create table if not exists signing_secrets (
    application integer primary key, version integer not null, record text not null);
  create table if not exists grants (
    application integer not null, user integer not null, version integer not null, status text not null,
    granted_at integer not null, record text not null, primary key (application, user)) without rowid;
  create index if not exists grants_by_user on grants (user, status);
  create view if not exists active_grants as
    select g.* from grants g join applications a on a.id = g.application
    where g.status = 'active' and g.record ->> 'applicationEpoch' = a.record ->> 'epoch';
  create table if not exists erased (user integer primary key);
  create table if not exists subscriptions (
    id integer primary key autoincrement, application integer not null unique, version integer not null, record text not null);
  create table if not exists registrations (
    id integer primary key autoincrement, version integer not null, record text not null);
  create table if not exists deliveries (
    id integer primary key autoincrement, application integer not null, subscription integer not null,
    object text not null, state text not null, due_at integer not null, ended_at integer,
    claim text, lease_ends integer, claims integer not null default 0, logged integer not null,
    record text not null);
  create index if not exists deliveries_pending on deliveries (subscription, object, id) where state = 'pending';
  create index if not exists deliveries_due on deliveries (due_at) where state = 'pending';
  create index if not exists deliveries_by_application on deliveries (application, id);
  create index if not exists deliveries_ended on deliveries (ended_at) where ended_at is not null;
`

/** Statements inside one transaction. */
export interface Sql {
  /** Returns the number of changed rows. */
  readonly run: (statement: string, ...values: ReadonlyArray<number | string | null>) => number
  /** Returns the identifier of the new row. */
  readonly insert: (statement: string, ...values: ReadonlyArray<number | string | null>) => number
  readonly all: <A, I>(
    row: Schema.Schema<A, I>,
    statement: string,
    ...values: ReadonlyArray<number | string | null>
  ) => ReadonlyArray<A>
}

const makeSql = (database: Database): Sql => {
  const bind = (values: ReadonlyArray<number | string | null>): BindValues => [...values]
  return {
    run: (statement, ...values) => database.run(statement, bind(values)).changes,
    insert: (statement, ...values) => Number(database.run(statement, bind(values)).lastInsertRowid),
    all: (row, statement, ...values) =>
      Schema.decodeUnknownSync(Schema.Array(row))(database.all(statement, bind(values)))
  }
}

/** Whether a user was erased. */
export const isErased = ({ all }: Sql, user: number): boolean =>
  all(Schema.Unknown, "select 1 from erased where user = ?", user).length > 0

/** Runs `steps` in one transaction. Every method of a store is one call, so it is atomic. */
export type Atomically = <A>(steps: (sql: Sql) => A) => Effect.Effect<A, Store.StoreError>

/** The driver blocks the thread. Between two transactions, requests and timers have their turn. */
const turn = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** Opens a database and makes its tables. It is closed with the scope. */
export const open = (filename: string, schema: string) =>
  Effect.gen(function*() {
    const database = yield* Effect.acquireRelease(
      Effect.try({ try: () => new sqlite.Database(filename), catch: (cause) => new Store.StoreError({ cause }) }),
      (opened) => Effect.sync(() => opened.close())
    )
    const sql = makeSql(database)
    const atomically: Atomically = (steps) =>
      Effect.zipRight(
        turn,
        Effect.try({
          try: () => {
            database.exec("begin immediate")
            try {
              const answer = steps(sql)
              database.exec("commit")
              return answer
            } catch (cause) {
              if (database.inTransaction) database.exec("rollback")
              throw cause
            }
          },
          catch: (cause) => new Store.StoreError({ cause })
        })
      )
    yield* Effect.try({ try: () => database.exec(schema), catch: (cause) => new Store.StoreError({ cause }) })
    return atomically
  })
