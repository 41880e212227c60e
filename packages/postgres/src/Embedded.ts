/** The stores in an embedded PostgreSQL (PGlite) in a folder: nothing to install, one process, durable writes. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Duration from "effect/Duration"
import * as Schedule from "effect/Schedule"
import type { PGlite } from "@electric-sql/pglite"
import { SqlError } from "@effect/sql/SqlError"
import { StoreError } from "@startlist/core/Store"
import * as Fs from "node:fs/promises"
import { constants, type Stats } from "node:fs"
import { join, resolve } from "node:path"
import * as Folder from "./Folder.ts"
import * as EmbeddedImage from "./internal/embeddedImage.ts"
import * as Pglite from "./internal/pglite.ts"
import * as stores from "./internal/stores.ts"
import * as Migrations from "./Migrations.ts"
import { Database, make as makeDatabase, makeWakeUps } from "./Database.ts"
import type { Provided } from "./Postgres.ts"
import type { Seal } from "./Seal.ts"

/** The folder, and how to open it. */
export interface Options {
  /** The data folder, which is created if it is missing. */
  readonly folder: string
  /** Prefix of every table name (default: `startlist_`). */
  readonly prefix?: string | undefined
  /** Whether to migrate the tables at the start (default: true). */
  readonly migrate?: boolean | undefined
  /** Further migrations, to run with ours. */
  readonly migrations?: ReadonlyArray<Migrations.MigrationSet> | undefined
  /** The image for a new folder. Default: the one in this package, with the tables of the stores. */
  readonly image?: Image | undefined
  /** Whether to open a folder whose data was moved to PostgreSQL (default: false). */
  readonly evenIfMoved?: boolean | undefined
}

/** An image that also has the tables of `migrations`, so that a first start needs no migration. */
export interface Image {
  /** The folder of the image. */
  readonly folder: string
  /** A text that changes with `migrations`. */
  readonly fingerprint: string
}

/**
 * The data folder cannot be used. Nothing in it was changed.
 *
 * - `absent`: it has no database, and must have one.
 * - `locked`: another process uses it.
 * - `version`: it was written by another major version of PostgreSQL.
 * - `damaged`: it is not a data folder, or incomplete.
 * - `inaccessible`: it cannot be created or read.
 * - `owner`: it belongs to the user `owner`, who could not read what this process, of the user `user`, would write.
 * - `moved`: its data was moved to a PostgreSQL server (`Move`), which `to` names.
 */
export class EmbeddedError extends Schema.TaggedError<EmbeddedError>()("@startlist/postgres/EmbeddedError", {
  reason: Schema.Literal("absent", "locked", "version", "damaged", "inaccessible", "owner", "moved"),
  folder: Schema.String,
  to: Schema.optional(Schema.String),
  owner: Schema.optional(Schema.Number),
  user: Schema.optional(Schema.Number),
  cause: Schema.optional(Schema.Defect)
}) {
  override get message(): string {
    switch (this.reason) {
      case "absent":
        return `there is no database in the folder ${this.folder}`
      case "locked":
        return `the data folder ${this.folder} is in use by another process`
      case "version":
        return `the data folder ${this.folder} belongs to another version of PostgreSQL than ${Pglite.majorVersion}`
      case "damaged":
        return `the data folder ${this.folder} is damaged`
      case "inaccessible":
        return `the data folder ${this.folder} cannot be used`
      case "owner":
        return `the data folder ${this.folder} belongs to user ${this.owner}: run this as that user, `
          + (this.user === 0
            ? `with setpriv --reuid ${this.owner} --regid ${this.owner} --clear-groups startlist …`
            : `or change its owner with chown -R ${this.user} ${this.folder}`)
      case "moved":
        return `the data of the folder ${this.folder} was moved to ${this.to ?? "another database"}: set DATABASE_URL. `
          + "If the move was cut off, run it again"
    }
  }
}

/** Size in bytes of PostgreSQL's control file. With another size, the folder is damaged. */
const controlFileBytes = 8192

const clusterIn = (folder: string): string => join(folder, "pgdata")

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")

const statOf = (path: string): Effect.Effect<Option.Option<Stats>, EmbeddedError> =>
  Effect.tryPromise({ try: () => Fs.stat(path), catch: (error) => error }).pipe(
    Effect.asSome,
    Effect.catchIf(isMissing, () => Effect.succeedNone),
    Effect.mapError((cause) => new EmbeddedError({ reason: "inaccessible", folder: path, cause }))
  )

const check = (folder: string): Effect.Effect<"absent" | "present", EmbeddedError> =>
  Effect.gen(function*() {
    const cluster = clusterIn(folder)
    const refuse = (reason: EmbeddedError["reason"]) => new EmbeddedError({ reason, folder: cluster })
    const found = yield* statOf(cluster)
    if (Option.isNone(found)) return "absent"
    const owner = found.value.uid
    // Windows has no such users.
    const user = process.geteuid?.() ?? owner
    if (owner !== user) return yield* new EmbeddedError({ reason: "owner", folder: resolve(folder), owner, user })
    const version = yield* Effect.tryPromise({
      try: () => Fs.readFile(join(cluster, "PG_VERSION"), "utf8"),
      catch: () => refuse("damaged")
    })
    if (!/^\d+(\.\d+)?\n?$/.test(version)) return yield* refuse("damaged")
    if (version.trim() !== Pglite.majorVersion) return yield* refuse("version")
    const control = yield* Effect.tryPromise({
      try: () => Fs.stat(join(cluster, "global", "pg_control")),
      catch: () => refuse("damaged")
    })
    if (control.size !== controlFileBytes) return yield* refuse("damaged")
    return "present"
  })

/** Fails if a folder has no database that this process can open. Creates nothing. */
export const requireDatabase = (folder: string): Effect.Effect<void, EmbeddedError> =>
  Effect.flatMap(
    check(folder),
    (found) => found === "present" ? Effect.void : new EmbeddedError({ reason: "absent", folder: resolve(folder) })
  )

const refuseMoved = (folder: string): Effect.Effect<void, EmbeddedError> =>
  Effect.flatMap(
    Effect.mapError(Folder.readMoved(folder), (cause) => new EmbeddedError({ reason: "inaccessible", folder, cause })),
    Option.match({
      onNone: () => Effect.void,
      onSome: ({ to }) => new EmbeddedError({ reason: "moved", folder, to })
    })
  )

const kindOf = ({ image, migrations = [] }: Pick<Options, "image" | "migrations">): EmbeddedImage.Kind =>
  image === undefined ? { migrations: [], fingerprint: "" } : { ...image, migrations }

/** The database of a folder, open and locked for the scope. */
const open = (
  { evenIfMoved = false, folder, image, migrations }: Options
): Effect.Effect<PGlite, EmbeddedError | Migrations.MigrationError, Scope.Scope> =>
  Effect.gen(function*() {
    yield* Effect.tryPromise({
      try: () => Folder.make(folder),
      catch: (cause) => new EmbeddedError({ reason: "inaccessible", folder, cause })
    })
    yield* Folder.lock(folder, () => new EmbeddedError({ reason: "locked", folder }))
    if (!evenIfMoved) yield* refuseMoved(folder)
    const cluster = clusterIn(folder)
    if ((yield* check(folder)) === "absent") yield* EmbeddedImage.install(cluster, kindOf({ image, migrations }))
    const said: Array<string> = []
    return yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => Pglite.open(cluster, (line) => said.push(line)),
        catch: () => new EmbeddedError({ reason: "damaged", folder, cause: new Error(said.join("\n")) })
      }),
      (pg) => Effect.ignoreLogged(Effect.tryPromise(() => pg.close()))
    )
  })

/** Checks before it migrates: most starts need no migration, and no other process uses the folder. */
const update = (set: Migrations.MigrationSet) =>
  Effect.flatMap(
    Migrations.status(set),
    ({ missing, unknown }) => missing.length + unknown.length === 0 ? Effect.void : Migrations.run(set)
  )

/** The reason why the database of a folder does not open. */
export type ConnectError = EmbeddedError | Migrations.MigrationError | SqlError

/** A client of the database in a folder, which is locked for the scope. Migrates the tables first. */
export const connect = (options: Options): Effect.Effect<SqlClient.SqlClient, ConnectError, Scope.Scope> =>
  Effect.gen(function*() {
    const sql = yield* Pglite.makeClient(yield* open(options))
    const sets = options.migrate ?? true ? [Migrations.startlist(options.prefix), ...options.migrations ?? []] : []
    yield* Effect.forEach(sets, update, { discard: true }).pipe(Effect.provideService(SqlClient.SqlClient, sql))
    return sql
  })

/** Copies the files while holding the only connection: no statement runs, so the files do not change. */
const copyFiles = (sql: SqlClient.SqlClient, folder: string) => (path: string): Effect.Effect<void, StoreError> =>
  Effect.scoped(Effect.gen(function*() {
    const connection = yield* sql.reserve
    // Write all changes to the files, so that a start from the copy need not replay them.
    yield* connection.execute("CHECKPOINT", [], undefined)
    yield* Effect.uninterruptible(
      Effect.tryPromise(() =>
        Fs.cp(clusterIn(folder), path, {
          recursive: true,
          force: false,
          errorOnExist: true,
          mode: constants.COPYFILE_FICLONE
        })
      )
    )
  })).pipe(Effect.mapError((cause) => new StoreError({ cause })))

const context = (
  options: Options
): Effect.Effect<Context.Context<Database | SqlClient.SqlClient>, ConnectError, Scope.Scope> =>
  Effect.gen(function*() {
    const prefix = options.prefix ?? Migrations.defaultPrefix
    const sql = yield* connect(options)
    yield* Effect.forkScoped(Effect.withClock(maintain(sql), Clock.make()))
    const { wake, wakeUps } = yield* makeWakeUps(Effect.void)
    const direct: Database.Direct = ({ text }, parameters) =>
      Effect.scoped(Effect.flatMap(sql.reserve, (connection) => connection.execute(text, parameters, undefined)))
    const database = makeDatabase({
      sql,
      prefix,
      direct,
      wake,
      wakeUps,
      isInProcess: true,
      copyFiles: copyFiles(sql, options.folder)
    })
    return Context.make(Database, database).pipe(Context.add(SqlClient.SqlClient, sql))
  })

/** The stores in the database of a folder, which the first start creates. For one process at a time. */
export const layerWith = (
  options: Options
): Layer.Layer<Provided, ConnectError, Seal> => Layer.provideMerge(stores.layer, Layer.scopedContext(context(options)))

/** Creates the image for new data folders, if it is missing. */
export const prepareImage = (
  options: Pick<Options, "image" | "migrations"> = {}
): Effect.Effect<void, Migrations.MigrationError> => Effect.asVoid(EmbeddedImage.load(kindOf(options)))

// The work of a server's background processes, which the embedded database does not have.

/** Bytes of write-ahead log between checkpoints: the maximum that a start after a crash replays, approximately. */
const checkpointBytes = 32 * 1024 * 1024

const every = (interval: Duration.DurationInput) => Effect.repeat(Schedule.spaced(interval))

/** Checkpoints as the write-ahead log grows, and vacuums once an hour. Never ends. */
const maintain = (sql: SqlClient.SqlClient): Effect.Effect<void> => {
  let position: string | undefined
  const checkpoint = Effect.gen(function*() {
    const [row] = yield* sql<{ readonly present: string; readonly grown: string | null }>`
      SELECT pg_current_wal_lsn()::text AS present, pg_wal_lsn_diff(pg_current_wal_lsn(), ${
      position ?? null
    }::pg_lsn) AS grown`
    position ??= row?.present
    if (row === undefined || Number(row.grown) < checkpointBytes) return
    yield* sql`CHECKPOINT`
    position = row.present
  })
  return Effect.all([
    Effect.delay(Effect.ignoreLogged(checkpoint), "10 seconds").pipe(every(0)),
    Effect.delay(Effect.ignoreLogged(sql`VACUUM (ANALYZE)`), "1 hour").pipe(every(0))
  ], { concurrency: "unbounded", discard: true })
}
