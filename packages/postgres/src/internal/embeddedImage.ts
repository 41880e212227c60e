/**
 * The data folder of an empty, migrated database, packed: unpacking it takes a quarter of a second, creating it three.
 *
 * `npm run image` makes it when the package is built; if it is missing, the first start makes it.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { createHash, randomUUID } from "node:crypto"
import * as Fs from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import * as Migrations from "../Migrations.ts"
import * as Pglite from "./pglite.ts"
import { fingerprint } from "./schema.ts"

/** In the package's `dist`, from `src` and from `dist` alike; named by what it was made of. */
const imageFile = async (): Promise<string> => {
  const require = createRequire(import.meta.url)
  const manifest = join(dirname(require.resolve("@electric-sql/pglite")), "..", "package.json")
  const made = createHash("sha256").update(await Fs.readFile(manifest)).update(fingerprint).digest("hex").slice(0, 16)
  return fileURLToPath(new URL(`../../dist/embedded-${made}.tgz`, import.meta.url))
}

const make = Effect.gen(function*() {
  const pg = yield* Effect.promise(() => Pglite.inMemory())
  const sql = yield* Pglite.makeClient(pg)
  yield* Effect.provideService(Migrations.run(Migrations.startlist()), SqlClient.SqlClient, sql)
  const image = yield* Effect.promise(() => pg.dumpDataDir("gzip").then((file) => file.arrayBuffer()))
  yield* Effect.promise(() => pg.close())
  return Buffer.from(image)
})

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

const blockBytes = 512

const text = (block: Buffer, start: number, length: number): string =>
  block.subarray(start, start + length).toString("utf8").split("\0", 1)[0] ?? ""

/** Unpacks into a folder that does not exist yet: the folders and plain files of a tar archive, which is all there is. */
const unpack = async (image: Buffer, folder: string): Promise<void> => {
  const archive = gunzipSync(image)
  await Fs.mkdir(folder, { mode: 0o700 })
  const folders = new Set<string>()
  const files: Array<Promise<void>> = []
  for (let at = 0; at + blockBytes <= archive.length && archive[at] !== 0;) {
    const header = archive.subarray(at, at + blockBytes)
    const name = join(folder, normalize(`/${text(header, 345, 155)}/${text(header, 0, 100)}`))
    const size = Number.parseInt(text(header, 124, 12).trim() || "0", 8)
    const start = at + blockBytes
    const isFolder = text(header, 156, 1) === "5"
    const parent = isFolder ? name : dirname(name)
    if (!folders.has(parent)) {
      await Fs.mkdir(parent, { recursive: true, mode: 0o700 })
      folders.add(parent)
    }
    if (!isFolder) files.push(Fs.writeFile(name, archive.subarray(start, start + size), { mode: 0o600 }))
    at = start + Math.ceil(size / blockBytes) * blockBytes
  }
  await Promise.all(files)
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
