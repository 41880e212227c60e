/**
 * The data folder of an empty, migrated database, packed: unpacking it takes a tenth of a second, creating it three.
 *
 * `npm run image` creates it when the package is built. If it is missing, the first start creates it.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { createHash, randomUUID } from "node:crypto"
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync } from "node:fs"
import * as Fs from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { crc32 } from "node:zlib"
import * as Migrations from "../Migrations.ts"
import * as Pglite from "./pglite.ts"
import { fingerprint } from "./schema.ts"

/** Version of the format of images. */
const format = "2"

/**
 * Identifies an image: its tables in addition to those of the stores, a text that changes with them, and its folder.
 */
export interface Kind {
  readonly migrations: ReadonlyArray<Migrations.MigrationSet>
  readonly fingerprint: string
  /** Default: in the `dist` of this package. */
  readonly folder?: string
}

/**
 * Path of the image, named by its contents. As a data folder, it suits every release of the engine with the same major version
 * of PostgreSQL: npm may install a newer one than the one that made the image. Finds the package by its name, because a
 * program that bundles this module moves the module, but not the image.
 */
const imageFile = (kind: Kind): string => {
  const folder = kind.folder ??
    join(dirname(createRequire(import.meta.url).resolve("@startlist/postgres/package.json")), "dist")
  const hash = createHash("sha256")
  for (const part of [format, Pglite.majorVersion, fingerprint, kind.fingerprint]) hash.update(`${part};`)
  return join(folder, `embedded-${hash.digest("hex").slice(0, 16)}.image`)
}

/**
 * Removes the template databases, which are two thirds of the files. They are not needed, because no other database is
 * created. They would also need a vacuum, without which transactions stop after two thousand million.
 */
const dropTemplates = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE pg_database SET datistemplate = false`
  yield* sql`DROP DATABASE template0`
  yield* sql`DROP DATABASE template1`
}).pipe(Effect.orDie)

/** Replaces all log segments, whose changes are in the files, by an empty one. Returns its name. */
const beginLog = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT pg_switch_wal()`
  yield* sql`CHECKPOINT`
  const [row] = yield* sql<{ readonly name: string }>`SELECT pg_walfile_name(pg_current_wal_lsn()) AS name`
  return row?.name
}).pipe(Effect.orDie)

const isSegment = /^pg_wal\/[0-9A-F]{24}$/

/** Packs a closed database: an image of a running one would start with a recovery, which takes seconds. */
const make = (kind: Kind) =>
  Effect.scoped(Effect.gen(function*() {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => Fs.mkdtemp(join(tmpdir(), "startlist-image-"))),
      (created) => Effect.promise(() => Fs.rm(created, { recursive: true, force: true }))
    )
    const pg = yield* Effect.promise(() => Pglite.create(folder))
    const sql = yield* Pglite.makeClient(pg)
    const segment = yield* Effect.forEach([Migrations.startlist(), ...kind.migrations], Migrations.run).pipe(
      Effect.zipRight(dropTemplates),
      Effect.zipRight(beginLog),
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    yield* Effect.promise(() => pg.close())
    return yield* Effect.promise(() => pack(folder, (path) => !isSegment.test(path) || path === `pg_wal/${segment}`))
  }))

/** Writes a file under another name and renames it, so that no process reads half of it. */
const keep = async (file: string, image: Buffer): Promise<void> => {
  const beside = `${file}.${randomUUID()}`
  await Fs.mkdir(dirname(file), { recursive: true })
  await Fs.writeFile(beside, image)
  await Fs.rename(beside, file)
}

/** The built image, or a new one, which is stored for later starts. */
export const load = (kind: Kind): Effect.Effect<Image, Migrations.MigrationError> =>
  Effect.gen(function*() {
    const file = imageFile(kind)
    const built = yield* Effect.promise(() => Fs.readFile(file).then(read, () => undefined))
    if (built) return built
    const bytes = yield* make(kind)
    yield* Effect.ignoreLogged(Effect.tryPromise(() => keep(file, bytes)))
    return read(bytes) ?? (yield* Effect.dieMessage("the image is not what was written"))
  })

/** The path of a folder, or of a file with its size and the length without trailing zeros. */
type Entry = readonly [path: string] | readonly [path: string, size: number, stored: number]

const withoutZeros = (content: Buffer): Buffer => {
  let length = content.length
  while (length > 0 && content[length - 1] === 0) length--
  return content.subarray(0, length)
}

interface Image {
  readonly entries: ReadonlyArray<Entry>
  /** Contents of the files, in the order of the entries. */
  readonly contents: Buffer
}

/** One line of JSON with a checksum and the entries, followed by the contents. */
const pack = async (folder: string, isNeeded: (path: string) => boolean): Promise<Buffer> => {
  const entries: Array<Entry> = []
  const contents: Array<Buffer> = []
  const add = async (path: string): Promise<void> => {
    const found = await Fs.readdir(join(folder, path), { withFileTypes: true })
    for (const entry of found.sort((a, b) => a.name < b.name ? -1 : 1)) {
      const inside = path === "" ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) {
        entries.push([inside])
        await add(inside)
      } else if (isNeeded(inside)) {
        const content = await Fs.readFile(join(folder, inside))
        const stored = withoutZeros(content)
        entries.push([inside, content.length, stored.length])
        contents.push(stored)
      }
    }
  }
  await add("")
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from(`${JSON.stringify([crc32(content), entries])}\n`), content])
}

/** Parses an archive. None if it is incomplete. */
const read = (bytes: Buffer): Image | undefined => {
  const end = bytes.indexOf("\n") + 1
  const contents = bytes.subarray(end)
  try {
    const [checksum, entries]: readonly [number, ReadonlyArray<Entry>] = JSON.parse(bytes.toString("utf8", 0, end))
    return crc32(contents) === checksum ? { entries, contents } : undefined
  } catch {
    return undefined
  }
}

/** Unpacks into a folder that does not exist yet, and flushes to the disk. */
const unpack = async ({ contents, entries }: Image, folder: string): Promise<void> => {
  let at = 0
  const files: Array<string> = []
  mkdirSync(folder, { mode: 0o700 })
  for (const [name, size, stored = 0] of entries) {
    const path = join(folder, name)
    if (size === undefined) {
      mkdirSync(path, { mode: 0o700 })
      continue
    }
    files.push(path)
    const file = openSync(path, "wx", 0o600)
    writeFileSync(file, contents.subarray(at, at + stored))
    if (stored < size) ftruncateSync(file, size)
    closeSync(file)
    at += stored
  }
  await Promise.all(files.map(async (path) => {
    const file = await Fs.open(path)
    await file.sync()
    await file.close()
  }))
}

/** Creates `folder` from the image, atomically. */
export const install = (folder: string, kind: Kind): Effect.Effect<void, Migrations.MigrationError> =>
  Effect.flatMap(load(kind), (image) =>
    Effect.promise(async () => {
      const beside = `${folder}.new`
      await Fs.rm(beside, { recursive: true, force: true })
      await unpack(image, beside)
      await Fs.rename(beside, folder)
    }))
