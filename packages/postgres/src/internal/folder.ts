/** Locks a data folder against a second process, and marks one whose data was moved. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Net from "node:net"
import { closeSync, openSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { open, readFile, rename } from "node:fs/promises"

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

const take = ({ isFile, name }: Place): Effect.Effect<Net.Server | "held" | "impossible"> =>
  Effect.gen(function*() {
    const taken = yield* listen(name)
    if (taken !== "held" || !isFile || (yield* answers(name))) return taken
    rmSync(name, { force: true })
    return yield* listen(name)
  })

const close = (server: Net.Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.close(() => resume(Effect.void))
  })

const takeFor = (place: Place) =>
  Effect.acquireRelease(take(place), (taken) => typeof taken === "string" ? Effect.void : close(taken))

/** Holds the lock of an existing folder for the scope. Fails immediately with `onHeld` if another process holds it. */
export const acquire = <E>(folder: string, onHeld: () => E): Effect.Effect<void, E, Scope.Scope> =>
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
