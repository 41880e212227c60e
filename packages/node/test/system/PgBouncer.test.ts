/** The service behind PgBouncer, if it is installed, in session mode and in transaction mode. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Pg from "pg"
import { eventually } from "@startlist/test-support/Eventually"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeNode } from "@startlist/test-support/Nodes"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { isInstalled } from "@startlist/test-support/RunProgram"
import { runStartlist } from "@startlist/test-support/ServiceProcess"
import { brew } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestServer from "@startlist/test-support/TestServer"

const command = "pgbouncer"

const nobody = 65_534

/** PgBouncer in front of a server; the URL of the database behind it. */
const makeBouncer = (server: string, mode: "session" | "transaction") =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const port = yield* Effect.promise(() => freePort())
    const { pathname, port: serverPort } = new URL(server)
    const file = join(folder, "pgbouncer.ini")
    writeFileSync(
      file,
      `[databases]
* = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 30
`
    )
    chmodSync(folder, 0o755)
    const url = `postgres://postgres@127.0.0.1:${port}${pathname}`
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const asWhom = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
        const child = spawn(command, [file], { stdio: "ignore", ...asWhom })
        const isUp = async () => {
          const client = new Pg.Client({ connectionString: url })
          client.on("error", () => {})
          return await client.connect().then(() => client.end()).then(() => true, () => false)
        }
        await eventually(isUp, (up) => up)
        return child
      }),
      (child) =>
        Effect.promise(async () => {
          const exited = once(child, "exit")
          child.kill("SIGKILL")
          await exited
        })
    )
    return url
  })

describe.skipIf(!isInstalled(command))("behind PgBouncer (skipped without PgBouncer)", () => {
  for (
    const [mode, settings] of [["session", {}], ["transaction", { PREPARED_STATEMENTS: "off" }]] as const
  ) {
    it.scopedLive(`in ${mode} mode two nodes lose nothing`, () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make()
        const environment = { ...installation(yield* makeBouncer(server.url, mode)), ...settings }
        const [one, two] = [yield* makeNode(environment), yield* makeNode(environment)]
        const receiver = yield* makeReceiver
        let turn = 0
        const storm = yield* Effect.promise(() =>
          brew(() => Promise.resolve(turn++ % 2 === 0 ? one : two), receiver, { writers: 4, chains: 4 })
        )
        yield* Effect.promise(async () => {
          await storm.progress(40)
          expect(await storm.settle()).toEqual([])
        })
      }))
  }

  it.scopedLive("in transaction mode with prepared statements: a start is refused, and doctor says why", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make()
      const environment = { ...installation(yield* makeBouncer(server.url, "transaction")), PORT: "0" }
      yield* Effect.promise(async () => {
        expect(await runStartlist(["serve"], environment)).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/^startlist: DATABASE_URL: .*set PREPARED_STATEMENTS=off\n$/)
        })
        const doctor = await runStartlist(["doctor"], environment)
        expect([doctor.code, doctor.stdout]).toEqual([
          1,
          expect.stringMatching(/FAIL {2}database: .*PREPARED_STATEMENTS=off\n/)
        ])
      })
    }))
})
