/** PGlite behind a `SqlClient`: one connection, held by a statement or a transaction for its scope. */
import { PGlite, type PGliteOptions, types } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fsyncSync } from "node:fs"

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
  "shared_buffers=32MB"
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

/** Like `pg`: `bigint` is text. */
const options: PGliteOptions = { parsers: { [types.INT8]: String }, relaxedDurability: false }

/** Opens a data folder. PostgreSQL's own complaints go to `onError`. */
export const open = (folder: string, onError: (line: string) => void): Promise<PGlite> =>
  PGlite.create({ ...options, fs: new DurableFS(folder), startParams, onStderr: (line) => (onError(line), true) })

/** Creates a database in an empty folder, without care for a power failure. */
export const create = (folder: string): Promise<PGlite> => PGlite.create({ ...options, fs: new NodeFS(folder) })

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
    const acquirer = Effect.uninterruptibleMask((restore) =>
      Effect.as(
        Effect.zipRight(
          restore(permit.take(1)),
          Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, permit.release(1)))
        ),
        connection
      )
    )
    return yield* SqlClient.make({
      acquirer,
      compiler: PgClient.makeCompiler(),
      spanAttributes: [["db.system.name", "postgresql"]]
    })
  }).pipe(Effect.provide(Reactivity.layer))
