/** Locks a folder against a second process or layer. The kernel releases the lock with its holder. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { closeSync, openSync, rmSync, statSync } from "node:fs"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

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
