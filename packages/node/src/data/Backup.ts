/** Copies of the data folder, made while the service runs. */
import { randomUUID } from "node:crypto"
import { copyFile, cp, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Database } from "@startlist/postgres/Database"
import { masterKeyFile, operatorTokenFile } from "./Keys.ts"

/** The data is in PostgreSQL, which has tools of its own for backups. */
export class NotEmbedded extends Data.TaggedError("@startlist/node/NotEmbedded")<{}> {}

/** The copy could not be written, and was removed. */
export class BackupFailed extends Data.TaggedError("@startlist/node/BackupFailed")<{ readonly cause: unknown }> {}

/** Backups of the embedded database. */
export class Backup extends Context.Tag("@startlist/node/Backup")<Backup, Backup.Service>() {}

export declare namespace Backup {
  export interface Service {
    /**
     * Copies the embedded database and its generated keys to a new folder in `DATA_DIR/backups`, and returns its path.
     * The copy is a complete data folder: the service can start on it.
     */
    readonly make: Effect.Effect<string, NotEmbedded | BackupFailed>
  }
}

/** Prefix of the names of incomplete copies. */
const unfinished = ".new-"

const attempt = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new BackupFailed({ cause }) })

const isFile = (path: string): Promise<boolean> => stat(path).then((found) => found.isFile(), () => false)

/** Flushes all files and folders to the disk. */
const sync = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await sync(path)
    else await syncOne(path)
  }
  await syncOne(folder)
}

const syncOne = async (path: string): Promise<void> => {
  const file = await open(path)
  await file.sync().finally(() => file.close())
}

const copyInto = (
  folder: string,
  dataDir: string,
  copyFiles: (path: string) => Effect.Effect<void, unknown>
): Effect.Effect<void, BackupFailed> =>
  Effect.gen(function*() {
    yield* attempt(() => mkdir(folder, { mode: 0o700 }))
    yield* Effect.mapError(copyFiles(join(folder, "pgdata")), (cause) => new BackupFailed({ cause }))
    yield* attempt(async () => {
      for (const fileIn of [masterKeyFile, operatorTokenFile]) {
        if (await isFile(fileIn(dataDir))) await copyFile(fileIn(dataDir), fileIn(folder))
      }
      await sync(folder)
    })
  })

const makeFor = (dataDir: string) =>
  Effect.gen(function*() {
    const { copyFiles } = yield* Database
    if (Option.isNone(copyFiles)) return Backup.of({ make: new NotEmbedded() })
    const backups = join(resolve(dataDir), "backups")
    // Safe: only this process uses the data folder.
    yield* Effect.ignore(attempt(async () => {
      const left = (await readdir(backups)).filter((name) => name.startsWith(unfinished))
      for (const name of left) await rm(join(backups, name), { recursive: true, force: true })
    }))
    const make = Effect.gen(function*() {
      yield* attempt(() => mkdir(backups, { recursive: true, mode: 0o700 }))
      const folder = join(backups, `${unfinished}${randomUUID()}`)
      const path = join(backups, DateTime.formatIso(yield* DateTime.now).replaceAll(":", "-"))
      yield* Effect.onError(
        Effect.zipRight(copyInto(folder, dataDir, copyFiles.value), attempt(() => rename(folder, path))),
        () => Effect.promise(() => rm(folder, { recursive: true, force: true }))
      )
      yield* attempt(() => syncOne(backups))
      return path
    })
    return Backup.of({ make })
  })

/** Copies a folder, completely or not at all, and removes it. An abort ends the copy before the next file. */
const copyAcross = async (from: string, to: string, signal: AbortSignal): Promise<void> => {
  const folder = `${to}${unfinished}${randomUUID()}`
  const filter = () => {
    signal.throwIfAborted()
    return true
  }
  try {
    await mkdir(folder, { mode: 0o700 })
    await cp(from, folder, { recursive: true, filter })
    await sync(folder)
    signal.throwIfAborted()
    await rename(folder, to)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  await syncOne(dirname(to))
  await rm(from, { recursive: true, force: true })
}

const isAcross = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EXDEV"

/** Moves a folder, also to another file system. After a failed or interrupted copy, it is where it was. */
export const move = (from: string, to: string): Effect.Effect<void, BackupFailed> =>
  Effect.async((resume, signal) => {
    const moved = rename(from, to).then(
      () => syncOne(dirname(to)),
      (error) => isAcross(error) ? copyAcross(from, to, signal) : Promise.reject(error)
    ).then(() => Effect.void, (cause) => new BackupFailed({ cause }))
    void moved.then(resume)
    return Effect.promise(() => moved)
  })

/** Backups of the database in `dataDir`. */
export const layer = (dataDir: string): Layer.Layer<Backup, never, Database> => Layer.effect(Backup, makeFor(dataDir))
