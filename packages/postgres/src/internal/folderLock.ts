/** Keeps a second process (and a second layer) away from a folder. The kernel ends the lock with its holder. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { rmSync, statSync } from "node:fs"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * A socket whose name comes from the folder's identity. On Linux in the abstract namespace and on Windows as a pipe: gone
 * with the process, however it ended. Elsewhere a file, which outlives a killed process but then refuses connections.
 */
const nameOf = (folder: string): string => {
  const { dev, ino } = statSync(folder)
  const name = `startlist-${dev}-${ino}`
  switch (process.platform) {
    case "linux":
      return `\0${name}`
    case "win32":
      return `\\\\.\\pipe\\${name}`
    default:
      return join(tmpdir(), `${name}.sock`)
  }
}

/** Listens; none if somebody else does. */
const listen = (name: string): Effect.Effect<Net.Server | undefined> =>
  Effect.async((resume) => {
    const server = Net.createServer((socket) => socket.destroy())
    server.once("error", () => resume(Effect.succeed(undefined)))
    server.listen(name, () => resume(Effect.succeed(server.unref())))
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

const tryAcquire = (folder: string): Effect.Effect<Net.Server | undefined> =>
  Effect.gen(function*() {
    const name = nameOf(folder)
    const server = yield* listen(name)
    if (server || process.platform === "linux" || process.platform === "win32" || (yield* answers(name))) return server
    rmSync(name, { force: true })
    return yield* listen(name)
  })

/** Holds the lock of an existing folder for the scope; fails at once with `onHeld` if it is taken. */
export const acquire = <E>(folder: string, onHeld: () => E): Effect.Effect<Net.Server, E, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(tryAcquire(folder), (server) => server ? Effect.succeed(server) : Effect.fail(onHeld())),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
      })
  )
