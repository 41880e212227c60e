/** Moves all data of an embedded database to PostgreSQL, in one transaction. */
import * as PgClient from "@effect/sql-pg/PgClient"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as SqlConnection from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Embedded from "./Embedded.ts"
import * as Folder from "./Folder.ts"
import type { Connection } from "./internal/connection.ts"
import * as Pool from "./internal/pool.ts"
import * as Migrations from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"

/** The folder, the target, and how to report progress. */
export interface Options extends Embedded.Options {
  /** The target database. Its tables must be empty; missing ones are created. */
  readonly to: Connection
  /** Name of the target, which is stored in the folder. Contains no password. */
  readonly description: string
  /** Called after each part of a table. */
  readonly report?: (progress: Progress) => Effect.Effect<void>
}

/** Number of copied rows of a table. */
export interface Progress {
  readonly table: string
  readonly copied: number
  readonly total: number
}

/** The number of copied rows by table; empty if an earlier run had moved the data and could not report it. */
export interface Moved {
  readonly tables: ReadonlyArray<Pick<Progress, "table" | "total">>
  readonly hadArrived: boolean
}

/**
 * The data was not moved.
 *
 * - `elsewhere`: the data of the folder was moved to another database.
 * - `occupied`: a table of the target has rows.
 * - `busy`: another client writes to the target, or another move into it is in progress.
 * - `differs`: the copied data differs from the source. Nothing was committed.
 * - `undecided`: the target cannot tell whether an earlier move into it was committed.
 * - `failed`: a statement failed. Run the move again: it detects whether the data was committed.
 */
export class MoveError extends Schema.TaggedError<MoveError>()("@startlist/postgres/MoveError", {
  reason: Schema.Literal("elsewhere", "occupied", "busy", "differs", "undecided", "failed"),
  /** A table, a file or a database. */
  subject: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message(): string {
    switch (this.reason) {
      case "elsewhere":
        return `the data of this folder was moved to ${this.subject} already`
      case "occupied":
        return `the target is not empty: there are rows in ${this.subject}`
      case "busy":
        return `the target is in use: ${this.subject} is locked. Stop what uses it, and try again`
      case "differs":
        return `${this.subject} differs from what was sent; nothing was kept`
      case "undecided":
        return `the target cannot tell whether an earlier move arrived. If it did not, remove ${this.subject} and try again`
      case "failed":
        return `the move failed at ${this.subject}; run it again`
    }
  }
}

/** Number of rows in one statement. A row of a grant has at most 8 kB. */
const batch = 500

/** Number of copied rows between two reports. */
const reportEvery = 10_000

/** A connection, with the subject of its statements for error messages. */
interface End {
  readonly run: <Row>(
    subject: string,
    text: string,
    parameters?: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<Row>, MoveError>
}

const lockNotAvailable = "55P03"

const codeOf = ({ cause }: SqlError): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined

const endOf = (connection: SqlConnection.Connection): End => ({
  run: <Row>(subject: string, text: string, parameters: ReadonlyArray<string> = []) =>
    Effect.mapBoth(connection.execute(text, parameters, undefined), {
      onSuccess: (rows) => rows as ReadonlyArray<Row>,
      onFailure: (cause) =>
        new MoveError({ reason: codeOf(cause) === lockNotAvailable ? "busy" : "failed", subject, cause })
    })
})

/** Quotes names, which come from the catalog. */
const quoted = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

interface Named {
  readonly name: string
}

const tablesOf = ({ run }: End, prefix: string, sets: ReadonlyArray<Migrations.MigrationSet>) =>
  Effect.map(
    run<Named>(
      "the catalog",
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, $1::text)",
      [prefix]
    ),
    (rows) => rows.map(({ name }) => name).filter((name) => !sets.some(({ table }) => table === name)).sort()
  )

interface Checksum {
  readonly rows: string
  readonly hash: string
}

/** The number of rows and the sum of their hashes, which does not depend on their order. */
const checksum = ({ run }: End, table: string): Effect.Effect<Checksum, MoveError> =>
  Effect.map(
    run<Checksum>(
      table,
      `SELECT count(*)::text AS rows, coalesce(sum(
          ('x' || encode(substring(sha256(convert_to(t::text, 'UTF8')) FROM 1 FOR 7), 'hex'))::bit(56)::bigint
        ), 0)::text AS hash FROM ${quoted(table)} t`
    ),
    ([found]) => found ?? { rows: "0", hash: "0" }
  )

/** Locks the target's tables against writes until the end. Returns the first table with rows. */
const lock = (target: End, tables: ReadonlyArray<string>): Effect.Effect<string | undefined, MoveError> =>
  Effect.gen(function*() {
    yield* target.run("the target", "SET LOCAL lock_timeout = '5s'")
    yield* Effect.forEach(
      tables,
      (table) => target.run(table, `LOCK TABLE ${quoted(table)} IN EXCLUSIVE MODE`),
      { discard: true }
    )
    for (const table of tables) {
      const [row] = yield* target.run(table, `SELECT FROM ${quoted(table)} LIMIT 1`)
      if (row !== undefined) return table
    }
    return undefined
  })

/** Copies rows as JSON objects by column name. The text of JSON columns is not changed. */
const copyTable = (source: End, target: End, table: string, report: (copied: number) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const columns = yield* source.run<Named>(
      table,
      "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
      [quoted(table)]
    )
    const list = columns.map(({ name }) => quoted(name)).join(", ")
    const insert = `INSERT INTO ${quoted(table)} (${list}) OVERRIDING SYSTEM VALUE
      SELECT ${list} FROM json_populate_recordset(NULL::${quoted(table)}, $1::json)`
    yield* source.run(
      table,
      `DECLARE moved NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS row FROM ${quoted(table)} t`
    )
    let copied = 0
    while (true) {
      const rows = yield* source.run<{ readonly row: string }>(table, `FETCH ${batch} FROM moved`)
      if (rows.length === 0) break
      yield* target.run(table, insert, [`[${rows.map(({ row }) => row).join(",")}]`])
      copied += rows.length
      if (copied % reportEvery === 0) yield* report(copied)
    }
    yield* source.run(table, "CLOSE moved")
  })

/** Sets the sequences, so that identifiers continue after those of the source. */
const copySequences = (source: End, target: End, prefix: string) =>
  Effect.flatMap(
    source.run<Named & { readonly value: string }>(
      "the sequences",
      `SELECT sequencename AS name, last_value::text AS value FROM pg_sequences
        WHERE schemaname = current_schema() AND starts_with(sequencename, $1::text) AND last_value IS NOT NULL`,
      [prefix]
    ),
    (sequences) =>
      Effect.forEach(
        sequences,
        ({ name, value }) => target.run(name, "SELECT setval($1::regclass, $2::bigint)", [quoted(name), value]),
        { discard: true }
      )
  )

const copyAll = (
  source: End,
  target: End,
  isCommitted: boolean,
  options: Options
): Effect.Effect<Moved, MoveError> =>
  Effect.gen(function*() {
    const { folder, migrations = [], prefix = Migrations.defaultPrefix, report = () => Effect.void } = options
    const sets = [Migrations.startlist(prefix), ...migrations]
    const tables = yield* tablesOf(source, prefix, sets)
    const occupied = yield* lock(target, tables)
    if (occupied !== undefined) {
      return isCommitted
        ? { tables: [], hadArrived: true }
        : yield* new MoveError({ reason: "occupied", subject: occupied })
    }
    const copied: Array<Moved["tables"][number]> = []
    for (const table of tables) {
      const sent = yield* checksum(source, table)
      const total = Number(sent.rows)
      yield* copyTable(source, target, table, (copied) => report({ table, copied, total }))
      const arrived = yield* checksum(target, table)
      if (arrived.rows !== sent.rows || arrived.hash !== sent.hash) {
        return yield* new MoveError({ reason: "differs", subject: table })
      }
      yield* target.run(table, `ANALYZE ${quoted(table)}`)
      yield* report({ table, copied: total, total })
      copied.push({ table, total })
    }
    yield* copySequences(source, target, prefix)
    const [row] = yield* target.run<{ readonly id: string }>("the target", "SELECT pg_current_xact_id()::text AS id")
    const mark = new Folder.MovedMark({ to: options.description, transaction: row?.id ?? "" })
    yield* Effect.mapError(Folder.writeMoved(folder, mark), (cause) =>
      new MoveError({ reason: "failed", subject: Folder.movedFileOf(folder), cause }))
    return { tables: copied, hadArrived: false }
  })

/** Runs an effect in a transaction of this connection, which is committed if the effect succeeds. */
const inTransaction = <A, E>(end: End, begin: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E | MoveError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      yield* end.run("the begin", begin)
      const done = yield* Effect.onError(restore(effect), () => Effect.ignore(end.run("the end", "ROLLBACK")))
      yield* end.run("the end", "COMMIT")
      return done
    })
  )

type Outcome = "committed" | "aborted" | "in progress" | null

/** Whether an earlier move into this target was committed. The mark does not show it, since it is written before. */
const wasCommitted = (target: End, mark: Folder.MovedMark, { description, folder }: Options) =>
  Effect.gen(function*() {
    if (mark.to !== description) return yield* new MoveError({ reason: "elsewhere", subject: mark.to })
    const undecided = () => new MoveError({ reason: "undecided", subject: Folder.movedFileOf(folder) })
    // Fails if the server does not know the transaction: it is another server with the same name.
    const [row] = yield* Effect.mapError(
      target.run<{ readonly outcome: Outcome }>("the target", "SELECT pg_xact_status($1::xid8) AS outcome", [
        mark.transaction
      ]),
      undecided
    )
    switch (row?.outcome) {
      case "committed":
        return true
      case "aborted":
        return false
      case "in progress":
        return yield* new MoveError({ reason: "busy", subject: "an earlier move" })
      default:
        return yield* undecided()
    }
  })

const connect = <R>(sql: Effect.Effect<SqlClient.SqlClient, Embedded.ConnectError, R>) =>
  Effect.map(Effect.flatMap(sql, (client) => client.reserve), endOf)

/**
 * Moves everything in the database of a folder to PostgreSQL, while no process uses the folder. Compares counts and
 * hashes of source and target. The folder keeps its data, but is marked and no longer opened. After an interruption at
 * any moment, run it again.
 */
export const move = (
  options: Options
): Effect.Effect<Moved, MoveError | Embedded.ConnectError> =>
  Effect.scoped(Effect.gen(function*() {
    const { folder, migrations, prefix, to } = options
    yield* Embedded.requireDatabase(folder)
    const source = yield* connect(Embedded.connect({ ...options, migrate: true, evenIfMoved: true }))
    yield* Postgres.migrate({ ...to, prefix, migrations })
    const target = yield* connect(PgClient.fromPool({ acquire: Pool.makePatient(to) }))
    const mark = yield* Effect.mapError(Folder.readMoved(folder), (cause) =>
      new MoveError({ reason: "undecided", subject: Folder.movedFileOf(folder), cause }))
    const isCommitted = Option.isSome(mark) && (yield* wasCommitted(target, mark.value, options))
    const copy = copyAll(source, target, isCommitted, options)
    return yield* inTransaction(target, "BEGIN", inTransaction(source, "BEGIN READ ONLY", copy))
  })).pipe(Effect.provide(Reactivity.layer))
