import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "@effect/sql"
import { User } from "@startlist/core"
import { Migrations } from "@startlist/postgres"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe, expect } from "vitest"
import { succeeds } from "@startlist/test-support/RunProgram"
import { inFolder, insert, isThere, open } from "../support/embedded.ts"

/** Another process that opens the folder, with its lines of output. */
const holder = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const script = fileURLToPath(new URL("holdFolder.ts", import.meta.url))
      const child = spawn(process.execPath, ["--import", "tsx", "--conditions=@startlist/source", script, folder], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = Effect.promise(() => lines.next()).pipe(Effect.map(({ value }) => String(value)))
      const kill = Effect.async<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
      return { next, kill }
    }),
    ({ kill }) => kill
  )

/** Makes a network for one program, as a container has. */
const unshare = ["--map-root-user", "--net"]

const hasUnshare = process.platform === "linux" && succeeds("unshare", ...unshare, "true")

/** Listens on a file in each folder. */
const holdAll = `for (const folder of process.argv.slice(1)) {
  process.chdir(folder)
  require("net").createServer().listen("lock")
}
setImmediate(() => console.log("holds"))`

const killed = (child: ChildProcess) =>
  Effect.promise(async () => {
    const ended = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, "exit")
    child.kill("SIGKILL")
    await ended
  })

describe("the embedded database", () => {
  it.live(
    "refuses a folder that another process, or another layer of this process, has open",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const refusal = `the data folder ${folder} is in use by another process`
          yield* Effect.gen(function*() {
            const error = yield* Effect.flip(Layer.build(open(folder)))
            expect(error.message).toBe(refusal)
            const second = yield* holder(folder)
            expect(yield* second.next).toBe(refusal)
            yield* insert
          }).pipe(Effect.provide(open(folder)))
        })
      )
  )

  // Containers that share a folder do not see each other's sockets, unless they are files: as if the holder were in another.
  it.live.skipIf(process.platform !== "linux")(
    "refuses a folder that another container has open, but not one that a killed container had open",
    () =>
      inFolder((parent) =>
        Effect.gen(function*() {
          const folder = join(parent, "a-path-too-long-for-a-socket".repeat(5))
          mkdirSync(folder)
          const elsewhere = spawn(process.execPath, [
            "-e",
            "process.chdir(process.argv[1]); require('net').createServer().listen('lock', () => console.log('holds'))",
            folder
          ], { stdio: ["ignore", "pipe", "inherit"] })
          yield* Effect.addFinalizer(() => Effect.sync(() => elsewhere.kill("SIGKILL")))
          yield* Effect.promise(() => once(elsewhere.stdout, "data"))
          const error = yield* Effect.flip(Effect.scoped(Layer.build(open(folder))))
          expect(error.message).toBe(`the data folder ${folder} is in use by another process`)
          elsewhere.kill("SIGKILL")
          yield* Effect.promise(() => once(elsewhere, "exit"))
          expect(readdirSync(folder)).toContain("lock")
          yield* Effect.provide(insert, open(folder))
          expect(readdirSync(folder)).toEqual(["pgdata"])
        })
      )
  )

  it.live.skipIf(!hasUnshare)(
    "is opened by one of two containers that begin at the same moment after another one was killed (skipped without unshare)",
    () =>
      inFolder((parent) =>
        Effect.gen(function*() {
          const folders = Array.from({ length: 40 }, (_, place) => join(parent, String(place)))
          for (const folder of folders) mkdirSync(folder, { mode: 0o700 })
          const holder = spawn(process.execPath, ["-e", holdAll, ...folders], { stdio: ["ignore", "pipe", "inherit"] })
          yield* Effect.promise(() => once(holder.stdout, "data"))
          yield* killed(holder)
          const script = fileURLToPath(new URL("takeFolders.ts", import.meta.url))
          const program = [process.execPath, "--import", "tsx", "--conditions=@startlist/source", script, ...folders]
          const container = Effect.acquireRelease(
            Effect.sync(() => {
              const child = spawn("unshare", [...unshare, ...program], { stdio: ["pipe", "pipe", "inherit"] })
              const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
              return { child, next: () => lines.next().then(({ value }) => String(value)) }
            }),
            ({ child }) => killed(child)
          )
          const containers = [yield* container, yield* container]
          const taken = yield* Effect.promise(async () => {
            for (const { next } of containers) expect(await next()).toBe("ready")
            const start = Date.now() + 200
            for (const { child } of containers) child.stdin.write(`${start}\n`)
            return await Promise.all(containers.map(({ next }) => next()))
          })
          const places: ReadonlyArray<number> = taken.flatMap((one) => JSON.parse(one))
          expect([...places].sort((a, b) => a - b)).toEqual(folders.map((_, place) => place))
        })
      )
  )

  it.live(
    "opens immediately after its holder was killed, with every acknowledged row",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          for (let round = 0; round < 3; round++) {
            const first = yield* holder(folder)
            expect(yield* first.next).toBe("ready")
            let last = ""
            for (let saved = 0; saved < 20 + round; saved++) last = yield* first.next
            yield* first.kill
            const id = User.UserId.make(Number(last.replace("saved ", "")))
            expect(yield* Effect.provide(isThere(id), open(folder))).toBe(true)
          }
        })
      )
  )

  it.live(
    "begins again after its first start was killed",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          mkdirSync(join(folder, "pgdata.new", "base", "5"), { recursive: true })
          writeFileSync(join(folder, "pgdata.new", "PG_VERSION"), "1")
          const { id } = yield* Effect.provide(insert, open(folder))
          expect(yield* Effect.provide(isThere(id), open(folder))).toBe(true)
          expect(readdirSync(folder)).toEqual(["pgdata"])
        })
      )
  )

  it.live(
    "is created from an image, which also has the embedder's tables, and is created again if it is incomplete",
    () =>
      inFolder((parent) =>
        Effect.gen(function*() {
          let runs = 0
          const migrations: ReadonlyArray<Migrations.MigrationSet> = [{
            table: "own",
            migrations: {
              "0001_tables": {
                run: Effect.flatMap(SqlClient.SqlClient, (sql) => {
                  runs++
                  return Effect.asVoid(sql`CREATE TABLE own_things (id integer)`)
                })
              },
              "0002_index": Migrations.index("own_things_id", "own_things (id)")
            }
          }]
          const options = { migrations, image: { folder: join(parent, "images"), fingerprint: "1" } }
          const start = (name: string) =>
            Effect.provide(
              Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT * FROM own_things`),
              open(join(parent, name), options)
            )
          yield* start("first")
          yield* start("second")
          expect(runs).toBe(1)
          const [image = ""] = readdirSync(options.image.folder)
          truncateSync(join(options.image.folder, image), 1_000_000)
          yield* start("third")
          yield* start("fourth")
          expect(runs).toBe(2)
          expect(readdirSync(options.image.folder)).toEqual([image])
        })
      )
  )
})
