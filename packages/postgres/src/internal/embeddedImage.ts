/**
 * The data folder of an empty, migrated database, packed: unpacking it takes a quarter of a second, creating it three.
 *
 * `npm run image` makes it when the package is built; if it is missing, the first start makes it.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { createHash, randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import * as Fs from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import * as Migrations from "../Migrations.ts"
import * as Pglite from "./pglite.ts"
import { fingerprint } from "./schema.ts"

/**
 * In the package's `dist`, named by what it was made of. The package is found by its name: a program that bundles this
 * module moves it, and leaves the image where it is.
 */
const imageFile = async (): Promise<string> => {
  const own = createRequire(import.meta.url).resolve("@startlist/postgres/package.json")
  const pglite = join(dirname(createRequire(own).resolve("@electric-sql/pglite")), "..", "package.json")
  const made = createHash("sha256").update(await Fs.readFile(pglite)).update(fingerprint).digest("hex").slice(0, 16)
  return join(dirname(own), "dist", `embedded-${made}.image`)
}

/** From a database that was closed: an image of a running one would start with a recovery, which takes seconds. */
const make = Effect.scoped(Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => Fs.mkdtemp(join(tmpdir(), "startlist-image-"))),
    (created) => Effect.promise(() => Fs.rm(created, { recursive: true, force: true }))
  )
  const pg = yield* Effect.promise(() => Pglite.create(folder))
  const sql = yield* Pglite.makeClient(pg)
  yield* Effect.provideService(Migrations.run(Migrations.startlist()), SqlClient.SqlClient, sql)
  yield* Effect.promise(() => pg.close())
  return yield* Effect.promise(() => pack(folder))
}))

/** Written beside and renamed, so that nobody reads half of it. Not being able to keep it is no failure. */
const keep = async (file: string, image: Buffer): Promise<void> => {
  const beside = `${file}.${randomUUID()}`
  await Fs.mkdir(dirname(file), { recursive: true })
  await Fs.writeFile(beside, image)
  await Fs.rename(beside, file)
}

/** The image: the one that was built, or a fresh one, which is kept for the next time. */
export const load: Effect.Effect<Buffer, Migrations.MigrationError> = Effect.gen(function*() {
  const file = yield* Effect.promise(imageFile)
  const built = yield* Effect.promise(() => Fs.readFile(file).catch(() => undefined))
  if (built) return built
  const image = yield* make
  yield* Effect.ignoreLogged(Effect.tryPromise(() => keep(file, image)))
  return image
})

/** A folder's path in the archive, or a file's with its size. */
type Entry = readonly [path: string, size: number | null]

/** One line of JSON, the list of entries, and the contents of the files in that order; compressed. */
const pack = async (folder: string): Promise<Buffer> => {
  const entries: Array<Entry> = []
  const contents: Array<Buffer> = []
  const add = async (path: string): Promise<void> => {
    const found = await Fs.readdir(join(folder, path), { withFileTypes: true })
    for (const entry of found.sort((a, b) => a.name < b.name ? -1 : 1)) {
      const inside = path === "" ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) {
        entries.push([inside, null])
        await add(inside)
      } else {
        const content = await Fs.readFile(join(folder, inside))
        entries.push([inside, content.length])
        contents.push(content)
      }
    }
  }
  await add("")
  return gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...contents]))
}

/** Unpacks into a folder that does not exist yet, down to the disk. */
const unpack = async (image: Buffer, folder: string): Promise<void> => {
  const archive = gunzipSync(image)
  let at = archive.indexOf("\n") + 1
  const entries: ReadonlyArray<Entry> = JSON.parse(archive.subarray(0, at).toString("utf8"))
  const files: Array<string> = []
  mkdirSync(folder, { mode: 0o700 })
  for (const [path, size] of entries) {
    if (size === null) mkdirSync(join(folder, path), { mode: 0o700 })
    else {
      files.push(join(folder, path))
      writeFileSync(join(folder, path), archive.subarray(at, at + size), { mode: 0o600 })
      at += size
    }
  }
  await Promise.all(files.map(async (path) => {
    const file = await Fs.open(path)
    await file.sync()
    await file.close()
  }))
}

/** Makes `folder` from the image, whole or not at all. */
export const install = (folder: string): Effect.Effect<void, Migrations.MigrationError> =>
  Effect.flatMap(load, (image) =>
    Effect.promise(async () => {
      const beside = `${folder}.new`
      await Fs.rm(beside, { recursive: true, force: true })
      await unpack(image, beside)
      await Fs.rename(beside, folder)
    }))
