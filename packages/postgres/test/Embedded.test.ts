import { it } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { User } from "@startlist/core"
import { Embedded, type Migrations, Postgres } from "@startlist/postgres"
import { Effect, Layer, Option } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { cpSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe, expect } from "vitest"
import * as fixtures from "./support/fixtures.ts"
import { temporaryFolder } from "./support/temporaryFolder.ts"

const open = (folder: string, options: Partial<Embedded.Options> = {}) =>
  Embedded.layerWith({ folder, ...options }).pipe(Layer.provide(fixtures.seal))

const inFolder = <A, E, R>(test: (folder: string) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(temporaryFolder, test))

const insert = Effect.flatMap(
  User.UserStore,
  (users) => users.insert({ role: "athlete", email: "a@a.test", firstName: "A", lastName: "B" })
)

const isThere = (id: User.UserId) =>
  Effect.flatMap(User.UserStore, (users) => Effect.map(users.find(id), Option.isSome))

const fingerprint = (folder: string) => {
  const hash = createHash("sha256")
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    hash.update(path)
    if (entry.isFile()) hash.update(readFileSync(path))
  }
  return hash.digest("hex")
}

/** Another process that opens the folder; lines are what it says. */
const holder = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const script = fileURLToPath(new URL("support/holdFolder.ts", import.meta.url))
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

describe("the embedded database", () => {
  it.live(
    "keeps what was saved over a restart, and is ready when it is open",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const { id } = yield* Effect.provide(Effect.zipLeft(insert, Postgres.ready), open(folder))
          expect(yield* Effect.provide(isThere(id), open(folder))).toBe(true)
        })
      ),
    60_000
  )

  it.live(
    "refuses a folder that another process, or another layer of this one, has open",
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
      ),
    60_000
  )

  // Containers that share a folder do not see each other's sockets, unless they are files: as if the holder were in another.
  it.live.skipIf(process.platform !== "linux")(
    "refuses a folder that another container has open; what a killed one left behind refuses nobody",
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
      ),
    60_000
  )

  it.live(
    "opens at once after its holder was killed, with every row that had been acknowledged",
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
      ),
    120_000
  )

  it.live(
    "refuses a folder of another PostgreSQL, a damaged one and a newer one, and touches nothing",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          yield* Effect.provide(insert, open(folder))
          const spoiled = (spoil: (cluster: string) => void) =>
            Effect.gen(function*() {
              const copy = yield* temporaryFolder
              cpSync(folder, copy, { recursive: true })
              spoil(join(copy, "pgdata"))
              const before = fingerprint(copy)
              const error = yield* Effect.flip(Effect.scoped(Layer.build(open(copy))))
              expect(fingerprint(copy)).toBe(before)
              return [error._tag, "reason" in error ? error.reason : ""]
            })
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "PG_VERSION"), "99\n"))).toEqual([
            "EmbeddedError",
            "version"
          ])
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "PG_VERSION"), "\0\0"))).toEqual([
            "EmbeddedError",
            "damaged"
          ])
          expect(yield* spoiled((cluster) => truncateSync(join(cluster, "global", "pg_control"), 100))).toEqual([
            "EmbeddedError",
            "damaged"
          ])
          expect(yield* spoiled((cluster) => writeFileSync(join(cluster, "global", "pg_control"), Buffer.alloc(8192))))
            .toEqual(["EmbeddedError", "damaged"])
        })
      ),
    60_000
  )

  it.live(
    "refuses a database whose tables are newer, and keeps them as they are",
    () =>
      inFolder((folder) =>
        Effect.gen(function*() {
          const newer = Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`INSERT INTO startlist_migrations VALUES ('0999_from_the_future')`
          )
          yield* Effect.provide(newer, open(folder))
          const own: Migrations.MigrationSet = { table: "own", migrations: {} }
          const error = yield* Effect.flip(Effect.scoped(Layer.build(open(folder, { migrations: [own] }))))
          expect(error.message).toBe("the database is newer than this program: it has \"0999_from_the_future\"")
        })
      ),
    60_000
  )
})
