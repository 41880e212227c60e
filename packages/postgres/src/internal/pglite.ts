/** PGlite behind a `SqlClient`: one connection, held by a statement or a transaction for its scope. */
import { PGlite, type PGliteOptions, types } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fsyncSync } from "node:fs"
import * as Engine from "../Engine.ts"

/** Of the PostgreSQL that PGlite is: it opens no other data. */
export const majorVersion = "18"

/** As PGlite starts it, but with writes that reach the disk, and less memory for buffers than a server would take. */
const startParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"),
  "-c",
  "fsync=on",
  "-c",
  "wal_sync_method=fsync",
  "-c",
  "shared_buffers=32MB",
  // The number of buffers that it tries at each start; the default is a thousand.
  "-c",
  "max_files_per_process=256"
]

/** Emscripten's file system on Node forgets to flush: it has no `fsync`, and PostgreSQL's succeeds without effect. */
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

/** The arrays that `pg` knows, each with its elements. */
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

/** Asks the catalog for no arrays: that is a tenth of a second of every start. Those of an embedder's types are text, as in `pg`. */
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

/** Like `pg`: `bigint` is text. */
const options: PGliteOptions = { parsers: { [types.INT8]: String }, relaxedDurability: false }

const start = async (more: PGliteOptions): Promise<PGlite> => {
  const pg = new Engined({ ...options, ...more, pgliteWasmModule: await Engine.compiled() })
  await pg.waitReady
  return pg
}

/** Opens a data folder. PostgreSQL's own complaints go to `onError`. */
export const open = (folder: string, onError: (line: string) => void): Promise<PGlite> =>
  start({ fs: new DurableFS(folder), startParams, onStderr: (line) => (onError(line), true) })

/** Creates a database in an empty folder, without care for a power failure. */
export const create = (folder: string): Promise<PGlite> => start({ fs: new NodeFS(folder) })

const escape = Statement.defaultEscape("\"")

/** As `@effect/sql-pg` has it, which would bring `pg` along. */
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
 * A turn of the event loop. A statement runs on this thread: one right after the other, they would keep answers unread
 * until these seem to be late, and each would be asked for the little that was there when the one before it began.
 */
const turn = Effect.async<void>((resume) => void setImmediate(resume, Effect.void))

/** A client for the life of the scope; it does not close the database. */
export const makeClient = (pg: PGlite): Effect.Effect<SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const permit = yield* Effect.makeSemaphore(1)
    // A statement cannot be taken back; its connection must not be given to somebody else before it has ended.
    const attempt = <A>(run: () => Promise<A>) =>
      Effect.uninterruptible(
        Effect.tryPromise({ try: run, catch: (cause) => new SqlError({ cause, message: "a statement failed" }) })
      )
    const execute: Connection["execute"] = (text, parameters, transformRows) =>
      Effect.map(attempt(() => pg.query<object>(text, [...parameters])), ({ rows }) =>
        transformRows ? transformRows(rows) : rows)
    const connection: Connection = {
      execute,
      executeRaw: (text, parameters) =>
        attempt(() => pg.query(text, [...parameters])),
      executeValues: (text, parameters) =>
        Effect.map(
          attempt(() => pg.query<ReadonlyArray<unknown>>(text, [...parameters], { rowMode: "array" })),
          ({ rows }) => rows
        ),
      executeUnprepared: execute,
      executeStream: (text, parameters, transformRows) =>
        Stream.unwrap(Effect.map(execute(text, parameters, transformRows), Stream.fromIterable))
    }
    // A fiber that is interrupted while it takes a permit would lose it for all (`Semaphore.withPermits` has that moment).
    const acquirer = Effect.uninterruptible(
      permit.take(1).pipe(
        Effect.zipRight(Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, permit.release(1)))),
        Effect.zipRight(turn),
        Effect.as(connection)
      )
    )
    return yield* SqlClient.make({
      acquirer,
      compiler,
      spanAttributes: [["db.system.name", "postgresql"]]
    })
  }).pipe(Effect.provide(Reactivity.layer))
