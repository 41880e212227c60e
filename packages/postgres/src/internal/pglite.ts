/** PGlite behind a `SqlClient`: one connection, held by a statement or a transaction for its scope. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Statement from "@effect/sql/Statement"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type messages, PGlite, type PGliteOptions, protocol, types } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import { fsyncSync } from "node:fs"
import * as Engine from "../Engine.ts"
import { checkedCommit, type Column, toRow } from "./statement.ts"

/** Major version of PGlite's PostgreSQL, which cannot open other data. */
export const majorVersion = "18"

/** PGlite's arguments, but with durable writes, and less memory for buffers than a server. */
const startParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"),
  "-c",
  "fsync=on",
  "-c",
  "wal_sync_method=fsync",
  // As for connections of a server: a plan fits all values, and is made once.
  "-c",
  "plan_cache_mode=force_generic_plan",
  "-c",
  "shared_buffers=32MB",
  // Number of buffers that it allocates at each start. The default is a thousand.
  "-c",
  "max_files_per_process=256"
]

/** Adds `fsync` to Emscripten's file system on Node, where PostgreSQL's `fsync` succeeds without effect. */
class DurableFS extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS["init"]>[1]) {
    const { emscriptenOpts } = await super.init(pg, options)
    const preRun = [
      ...emscriptenOpts.preRun ?? [],
      (module: { readonly NODEFS: object }) => {
        // Emscripten's own objects: `NODEFS.stream_ops` is shared by all files, `nfd` is the descriptor (none for folders).
        const { stream_ops } = module.NODEFS as { readonly stream_ops: Record<string, unknown> }
        stream_ops.fsync = (stream: { readonly nfd?: number }) => {
          if (stream.nfd !== undefined) fsyncSync(stream.nfd)
          return 0
        }
      }
    ]
    return { emscriptenOpts: { ...emscriptenOpts, preRun } }
  }
}

/** The array types of `pg`, each with the type of its elements. */
const arrays = [
  [1000, types.BOOL],
  [1001, types.BYTEA],
  [1005, types.INT2],
  [1007, types.INT4],
  [1016, types.INT8],
  [1028, types.OID],
  [1021, types.FLOAT4],
  [1022, types.FLOAT8],
  [1231, types.NUMERIC],
  [1009, types.TEXT],
  [1014, types.BPCHAR],
  [1015, types.VARCHAR],
  [1182, types.DATE],
  [1183, types.TIME],
  [1270, types.TIMETZ],
  [1115, types.TIMESTAMP],
  [1185, types.TIMESTAMPTZ],
  [1187, types.INTERVAL],
  [199, types.JSON],
  [3807, types.JSONB],
  [2951, types.UUID],
  [1041, types.INET],
  [651, types.CIDR],
  [1040, types.MACADDR]
] as const

/**
 * Does not read array types from the catalog, which takes 0.1 s per start. Arrays of other types are text, as in `pg`.
 */
class Engined extends PGlite {
  override async _initArrayTypes(options?: { readonly force?: boolean }) {
    if (options?.force === true) return super._initArrayTypes(options)
    for (const [array, element] of arrays) {
      const parse = this.parsers[element] ?? String
      this.parsers[array] = (text: string) => types.arrayParser(text, parse, array)
      this.serializers[array] = (values: unknown) => types.arraySerializer(values, this.serializers[element], array)
    }
  }
}

/** Parsers like those of `pg`: `bigint` is text. */
const options: PGliteOptions = { parsers: { [types.INT8]: String }, relaxedDurability: false }

const start = async (more: PGliteOptions): Promise<PGlite> => {
  const pg = new Engined({ ...options, ...more, pgliteWasmModule: await Engine.compiled() })
  await pg.waitReady
  return pg
}

/** Opens a data folder. Passes PostgreSQL's own error output to `onError`. */
export const open = (folder: string, onError: (line: string) => void): Promise<PGlite> =>
  start({ fs: new DurableFS(folder), startParams, onStderr: (line) => (onError(line), true) })

/** Creates a database in an empty folder, without protection against a power failure. */
export const create = (folder: string): Promise<PGlite> => start({ fs: new NodeFS(folder) })

const escape = Statement.defaultEscape("\"")

/** The same as in `@effect/sql-pg`, which would also load `pg`. */
const compiler = Statement.makeCompiler({
  dialect: "pg",
  placeholder: (index) => `$${index}`,
  onIdentifier: escape,
  onRecordUpdate: (placeholders, alias, columns, values, returning) => [
    `(values ${placeholders}) AS ${alias}${columns}${returning === undefined ? "" : ` RETURNING ${returning[0]}`}`,
    [...values.flat(), ...returning?.[1] ?? []]
  ],
  onCustom: (custom) => {
    throw new TypeError(`the embedded database has no ${custom.kind}`)
  }
})

/**
 * Maximum time in milliseconds between two turns of the event loop while a transaction runs. Timers and sockets wait for
 * a turn, also the timer that ends the transaction. A turn before each of its statements would take longer.
 */
const maxBusyMillis = 20

/** A client for the scope. Does not close the database. */
export const makeClient = (pg: PGlite): Effect.Effect<SqlClient.SqlClient> =>
  Effect.gen(function*() {
    let turnedAt = 0
    /**
     * Waits for a turn of the event loop between statements, which run on this thread. Otherwise responses would stay
     * unread until they seem late, and batches would stay small.
     */
    const turn = Effect.async<void>((resume) =>
      void setImmediate(() => {
        turnedAt = performance.now()
        resume(Effect.void)
      })
    )
    const attempt = <A>(run: () => Promise<A>) => {
      // A statement cannot be cancelled, and its connection cannot be used before it has ended.
      const statement = Effect.uninterruptible(
        Effect.tryPromise({ try: run, catch: (cause) => new SqlError({ cause, message: "a statement failed" }) })
      )
      return Effect.suspend(() =>
        performance.now() - turnedAt > maxBusyMillis ? Effect.zipRight(turn, statement) : statement
      )
    }
    const query: Run = (text, parameters) => pg.query<object>(text, [...parameters]).then(({ rows }) => rows)
    const executeWith = (run: Run): Connection["execute"] => (text, parameters, transformRows) =>
      Effect.map(attempt(() => run(text, parameters)), (rows) => transformRows ? transformRows(rows) : rows)
    const execute = executeWith(makeRun(pg))
    const connection: Connection = {
      execute,
      executeRaw: (text, parameters) => attempt(() => pg.query(text, [...parameters])),
      executeValues: (text, parameters) =>
        Effect.map(
          attempt(() => pg.query<ReadonlyArray<unknown>>(text, [...parameters], { rowMode: "array" })),
          ({ rows }) => rows
        ),
      executeUnprepared: executeWith((text, parameters) => text === "COMMIT" ? commit(pg) : query(text, parameters)),
      executeStream: (text, parameters, transformRows) =>
        Stream.unwrap(Effect.map(execute(text, parameters, transformRows), Stream.fromIterable))
    }
    // Not a semaphore: a fiber that takes it again and again would be faster than all that wait for it.
    const idle = yield* Queue.unbounded<Connection>()
    const release = Queue.offer(idle, connection)
    yield* release
    const acquirer = Effect.uninterruptible(
      Queue.take(idle).pipe(
        Effect.tap(Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, release))),
        Effect.tap(turn)
      )
    )
    return yield* SqlClient.make({
      acquirer,
      compiler,
      spanAttributes: [["db.system.name", "postgresql"]]
    })
  }).pipe(Effect.provide(Reactivity.layer))

/** Rolls back if it fails: the connection is the only one. */
const commit = async (pg: PGlite): Promise<ReadonlyArray<object>> => {
  try {
    await pg.exec(checkedCommit)
    return []
  } catch (error) {
    await pg.exec("ROLLBACK")
    throw error
  }
}

// Prepared statements: PGlite's own `query` parses and plans a statement each time.

const { serialize } = protocol

interface Prepared {
  readonly name: string
  /** Types of the parameters. */
  readonly types: ReadonlyArray<number>
  readonly columns: ReadonlyArray<Column>
}

/** Maximum number of prepared statements. The one that was not used for the longest time is dropped. */
const maxPrepared = 200

/** A table was changed since the statement was prepared. */
const hasChanged = (error: unknown): boolean =>
  error instanceof Error && error.message === "cached plan must not change result type"

/** Runs a statement. Returns its rows. */
type Run = (text: string, parameters: ReadonlyArray<unknown>) => Promise<ReadonlyArray<object>>

/** Runs statements of the only connection, one at a time. Prepares each at its first use. */
const makeRun = (pg: PGlite): Run => {
  const known = new Map<string, Prepared>()
  let lastName = 0

  const ask = (...parts: ReadonlyArray<Uint8Array>) =>
    pg.execProtocolStream(Buffer.concat([...parts, serialize.sync()]), { throwOnError: true })

  const forget = async (text: string): Promise<void> => {
    const name = known.get(text)?.name
    known.delete(text)
    if (name !== undefined) await ask(serialize.close({ type: "S", name }))
  }

  const prepare = async (text: string): Promise<Prepared> => {
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= maxPrepared) await forget(oldest)
    const name = `s${++lastName}`
    const answer = await ask(serialize.parse({ name, text }), serialize.describe({ type: "S", name }))
    const parameters = answer.find((message): message is messages.ParameterDescriptionMessage =>
      message.name === "parameterDescription"
    )
    const rows = answer.find((message): message is messages.RowDescriptionMessage => message.name === "rowDescription")
    return {
      name,
      types: parameters?.dataTypeIDs ?? [],
      columns: (rows?.fields ?? []).map(({ dataTypeID, name }) => ({ name, parse: pg.parsers[dataTypeID] ?? String }))
    }
  }

  const execute: Run = async (text, parameters) => {
    const prepared = known.get(text) ?? await prepare(text)
    // Move it to the end, so that the first is the one to drop.
    known.delete(text)
    known.set(text, prepared)
    const values = parameters.map((value, index) => {
      if (value === null || value === undefined) return null
      const toText = pg.serializers[prepared.types[index] ?? 0]
      return toText === undefined ? String(value) : toText(value)
    })
    const answer = await ask(serialize.bind({ statement: prepared.name, values }), serialize.execute({}))
    const rows: Array<object> = []
    for (const message of answer) {
      if (message.name === "dataRow") rows.push(toRow(prepared.columns, (message as messages.DataRowMessage).fields))
    }
    return rows
  }

  return (text, parameters) =>
    execute(text, parameters).catch(async (error: unknown) => {
      if (!hasChanged(error)) throw error
      await forget(text)
      // The error has ended a transaction, but the next one succeeds.
      if (pg.isInTransaction()) throw error
      return execute(text, parameters)
    })
}
