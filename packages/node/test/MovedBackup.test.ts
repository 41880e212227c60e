/** A backup that is moved to another folder, also on another file system. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { move } from "../src/data/Backup.ts"

/** A folder in memory, which is another file system than the temporary folder's on most machines. */
const memory = "/dev/shm"

const isOther = existsSync(memory) && statSync(memory).dev !== statSync(tmpdir()).dev

const otherFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(memory, "startlist-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** A folder with a file in a folder of its own. */
const makeSource = Effect.map(temporaryFolder, (parent) => {
  const from = join(parent, "made")
  mkdirSync(join(from, "pgdata"), { recursive: true, mode: 0o700 })
  writeFileSync(join(from, "pgdata", "PG_VERSION"), "18")
  return from
})

/** A socket, which is a file that cannot be copied. */
const listening = (path: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer().listen(path)
      await once(server, "listening")
      return server
    }),
    (server) => Effect.sync(() => server.close())
  )

const modeOf = (path: string) => statSync(path).mode & 0o777

const content = (folder: string) => readFileSync(join(folder, "pgdata", "PG_VERSION"), "utf8")

describe("a backup is moved", () => {
  it.scoped("on one file system", () =>
    Effect.gen(function*() {
      const from = yield* makeSource
      const to = join(yield* temporaryFolder, "backup")
      yield* move(from, to)
      expect([content(to), existsSync(from)]).toEqual(["18", false])
    }))

  it.scoped.skipIf(!isOther)("to another file system, where only its owner may read it", () =>
    Effect.gen(function*() {
      const [from, parent] = [yield* makeSource, yield* otherFolder]
      const to = join(parent, "backup")
      yield* move(from, to)
      expect([content(to), existsSync(from), readdirSync(parent)]).toEqual(["18", false, ["backup"]])
      expect([modeOf(to), modeOf(join(to, "pgdata"))]).toEqual([0o700, 0o700])
    }))

  it.scoped.skipIf(!isOther)(
    "to another file system completely, or not at all if a file cannot be copied",
    () =>
      Effect.gen(function*() {
        const [from, parent] = [yield* makeSource, yield* otherFolder]
        yield* listening(join(from, "pgdata", "socket"))
        yield* Effect.flip(move(from, join(parent, "backup")))
        expect([content(from), readdirSync(parent)]).toEqual(["18", []])
      })
  )

  it.scopedLive.skipIf(!isOther)(
    "to another file system, and stays where it was after an interruption",
    () =>
      Effect.gen(function*() {
        const [from, parent] = [yield* makeSource, yield* otherFolder]
        const moving = yield* Effect.fork(move(from, join(parent, "backup")))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(moving)
        expect([content(from), readdirSync(parent)]).toEqual(["18", []])
      })
  )
})
