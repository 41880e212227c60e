/** Keeps a second process (and a second layer) away from a folder. The kernel ends the lock with its holder. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { closeSync, openSync, rmSync, statSync } from "node:fs"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A socket to listen on: the lock is held while somebody does. */
interface Place {
  readonly name: string
  /** A file outlives a holder that was killed, but then refuses connections; every other name is gone with its holder. */
  readonly isFile: boolean
}

/** The file in a folder, by a name that is short enough for a socket however long the folder's path is. */
const fileIn = (folder: string): Effect.Effect<ReadonlyArray<Place>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try(() => openSync(folder, "r")),
    (descriptor) => Effect.sync(() => closeSync(descriptor))
  ).pipe(
    Effect.map((descriptor) => [{ name: `/proc/self/fd/${descriptor}/lock`, isFile: true }]),
    Effect.orElseSucceed(() => [])
  )

/**
 * Names that come from the folder's identity. On Windows a pipe. On Linux one in the abstract namespace, in which nothing
 * is ever left behind, and a file in the folder besides: containers that share a folder have a namespace each, but see
 * each other's files. Elsewhere a file.
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

/** Listens; `held` if somebody else does, `impossible` where there can be no such socket, as on some mounts. */
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

/** Holds the lock of an existing folder for the scope; fails immediately with `onHeld` if it is taken. */
export const acquire = <E>(folder: string, onHeld: () => E): Effect.Effect<void, E, Scope.Scope> =>
  Effect.gen(function*() {
    const taken = yield* Effect.forEach(yield* placesOf(folder), takeFor)
    if (taken.includes("held") || taken.every((one) => one === "impossible")) yield* Effect.fail(onHeld())
  })
