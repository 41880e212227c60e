/** Folders for data: private to their owner, locked against a second process, and marked if their data was moved. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { closeSync, linkSync, lstatSync, openSync, renameSync, rmSync, type Stats, statSync } from "node:fs"
import { mkdir, open, readFile, rename, stat } from "node:fs/promises"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"

const isFolder = (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), () => false)

/**
 * The reason why a folder is not private: others may write in it, and may have planted a key or a database. So its mode
 * is not corrected silently. Windows has no such modes.
 */
export const whyNotPrivate = (folder: string, { mode }: Pick<Stats, "mode">): Option.Option<string> =>
  process.platform !== "win32" && (mode & 0o022) !== 0
    ? Option.some(
      `others may write in ${folder} (mode ${
        (mode & 0o777).toString(8)
      }): check that its files are yours, then chmod 700 ${folder}`
    )
    : Option.none()

/**
 * Creates a folder and its missing parents, only for their owner. One by one: Node's own `recursive` retries endlessly
 * if the file system refuses with ENOENT, like `/proc`.
 */
const makeAll = async (folder: string): Promise<void> => {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeAll(dirname(folder))
  await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
    // Another process was faster.
    if (!await isFolder(folder)) throw error
  })
}

/** Creates a folder only for its owner. Fails if it exists and others may write in it. */
export const make = async (path: string): Promise<void> => {
  const folder = resolve(path)
  await makeAll(folder)
  const whyNot = whyNotPrivate(folder, await stat(folder))
  if (Option.isSome(whyNot)) throw new Error(whyNot.value)
}

/** A socket address. Listening on it holds the lock. */
interface Place {
  readonly name: string
  /** A file outlives a killed holder, but then refuses connections. Other names disappear with their holder. */
  readonly isFile: boolean
}

/** The file in a folder, with a name that is short enough for a socket even if the folder's path is long. */
const fileIn = (folder: string): Effect.Effect<ReadonlyArray<Place>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try(() => openSync(folder, "r")),
    (descriptor) => Effect.sync(() => closeSync(descriptor))
  ).pipe(
    Effect.map((descriptor) => [{ name: `/proc/self/fd/${descriptor}/lock`, isFile: true }]),
    Effect.orElseSucceed(() => [])
  )

/**
 * Names from the folder's identity: on Windows a pipe, on Linux an abstract socket, which disappears with its holder,
 * and a file in the folder, because containers that share a folder do not share abstract sockets. On other systems a
 * file.
 */
const placesOf = (folder: string): Effect.Effect<ReadonlyArray<Place>, never, Scope.Scope> => {
  const { dev, ino } = statSync(folder)
  const name = `startlist-${dev}-${ino}`
  switch (process.platform) {
    case "linux":
      return Effect.map(fileIn(folder), (files) => [{ name: `\0${name}`, isFile: false }, ...files])
    case "win32":
      return Effect.succeed([{ name: `\\\\.\\pipe\\${name}`, isFile: false }])
    default:
      return Effect.succeed([{ name: join(tmpdir(), `${name}.sock`), isFile: true }])
  }
}

/** Listens. `held`: another process listens. `impossible`: the file system does not support sockets. */
const listen = (name: string): Effect.Effect<Net.Server | "held" | "impossible"> =>
  Effect.async((resume) => {
    const server = Net.createServer((socket) => socket.destroy())
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.succeed(error.code === "EADDRINUSE" ? "held" : "impossible")))
    server.listen(name, () =>
      resume(Effect.succeed(server.unref())))
  })

const answers = (name: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const socket = Net.connect(name)
    const done = (isAnswered: boolean) => {
      socket.destroy()
      resume(Effect.succeed(isAnswered))
    }
    socket.once("connect", () => done(true)).once("error", () => done(false))
  })

/** Time in milliseconds in which a holder whose file is there begins to answer. */
const beginning = 50

/** Identifies a file until it is removed, also under another name. */
const identityOf = (name: string): string => {
  const { ino, mtimeNs } = lstatSync(name, { bigint: true })
  return `${ino} ${mtimeNs}`
}

/** Removes this file. Fails if it is another one by now: then another process was faster, and keeps its file. */
const removeOnly = (name: string, identity: string): void => {
  const aside = `${name}.${randomUUID()}`
  renameSync(name, aside)
  try {
    if (identityOf(aside) === identity) return
    linkSync(aside, name)
  } finally {
    rmSync(aside)
  }
  throw new Error(`${name} is held by another process`)
}

const take = ({ isFile, name }: Place): Effect.Effect<Net.Server | "held" | "impossible"> =>
  Effect.gen(function*() {
    const taken = yield* listen(name)
    if (taken !== "held" || !isFile) return taken
    const identity = yield* Effect.try(() => identityOf(name))
    if (yield* answers(name)) return taken
    yield* Effect.promise(() => setTimeout(beginning))
    if (yield* answers(name)) return taken
    yield* Effect.try(() => removeOnly(name, identity))
    return yield* listen(name)
  }).pipe(Effect.orElseSucceed((): "held" => "held"))

const close = (server: Net.Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.close(() => resume(Effect.void))
  })

const takeFor = (place: Place) =>
  Effect.acquireRelease(take(place), (taken) => typeof taken === "string" ? Effect.void : close(taken))

/** Holds the lock of an existing folder for the scope. Fails immediately with `onHeld` if another process holds it. */
export const lock = <E>(folder: string, onHeld: () => E): Effect.Effect<void, E, Scope.Scope> =>
  Effect.gen(function*() {
    const taken = yield* Effect.forEach(yield* placesOf(folder), takeFor)
    if (taken.includes("held") || taken.every((one) => one === "impossible")) yield* Effect.fail(onHeld())
  })

/**
 * The target of the data. `to` has no password. `transaction` is the one that copied the data, which may have failed.
 */
export class MovedMark extends Schema.Class<MovedMark>("@startlist/postgres/MovedMark")({
  to: Schema.String,
  transaction: Schema.String
}) {}

const json = Schema.parseJson(MovedMark)

export const movedFileOf = (folder: string): string => join(folder, "moved.json")

const hasNone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** The mark of a folder. Fails if it exists and cannot be read. */
export const readMoved = (folder: string): Effect.Effect<Option.Option<MovedMark>, unknown> =>
  Effect.tryPromise({ try: () => readFile(movedFileOf(folder), "utf8"), catch: (error) => error }).pipe(
    Effect.flatMap(Schema.decode(json)),
    Effect.asSome,
    Effect.catchIf(hasNone, () => Effect.succeedNone)
  )

/** Writes the mark, and flushes it to the disk. */
export const writeMoved = (folder: string, mark: MovedMark): Effect.Effect<void, unknown> =>
  Effect.flatMap(Schema.encode(json)(mark), (text) =>
    Effect.tryPromise({
      try: async () => {
        const path = movedFileOf(folder)
        const file = await open(`${path}.new`, "w", 0o600)
        try {
          await file.writeFile(`${text}\n`)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(`${path}.new`, path)
        const parent = await open(folder)
        await parent.sync().finally(() => parent.close())
      },
      catch: (error) => error
    }))
