/** A primary with a synchronous standby: the primary dies under load, and the standby is promoted. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Pg from "pg"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeNode } from "@startlist/test-support/Nodes"
import { createUser } from "@startlist/test-support/Operator"
import * as PostgresServer from "@startlist/test-support/PostgresServer"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { runStartlist } from "@startlist/test-support/ServiceProcess"
import { brew } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestServer from "@startlist/test-support/TestServer"

/** Asks a server as its administrator. */
const ask = async (url: string, ...statements: ReadonlyArray<string>) => {
  const client = new Pg.Client({ connectionString: url })
  client.on("error", () => {})
  await client.connect()
  let rows: ReadonlyArray<Record<string, unknown>> = []
  for (const statement of statements) rows = (await client.query(statement)).rows
  await client.end()
  return rows
}

const portOf = (url: string): string => new URL(url).port

const started = (make: () => Promise<PostgresServer.PostgresServer>) =>
  Effect.acquireRelease(Effect.promise(make), (server) => Effect.promise(() => server.stop()))

/** A primary, and a standby that confirms every commit. */
const pair = Effect.gen(function*() {
  const [folder, other] = [yield* temporaryFolder, yield* temporaryFolder]
  const settings = { fsync: "off", max_connections: "50" }
  const primary = yield* started(() => PostgresServer.make({ folder, settings }))
  const url = primary.urlOf("postgres")
  yield* Effect.promise(() => primary.stop())
  const primary_conninfo = `host=127.0.0.1 port=${portOf(url)} user=postgres application_name=standby`
  const standby = yield* started(async () => {
    const made = PostgresServer.make({ folder: other, standbyOf: folder, settings: { ...settings, primary_conninfo } })
    const copied = await made
    await primary.start()
    return copied
  })
  yield* Effect.promise(async () => {
    await ask(url, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    await eventually(
      () => ask(url, "SELECT sync_state FROM pg_stat_replication"),
      ([row]) => row?.["sync_state"] === "sync"
    )
  })
  return { primary, standby, url, standbyUrl: standby.urlOf("postgres") }
})

describe("several database servers", () => {
  it.scopedLive(
    "if the primary dies under load, the service continues with the promoted standby, and nothing is lost",
    () =>
      Effect.gen(function*() {
        const { primary, standbyUrl, url } = yield* pair
        const both = `postgres://postgres@127.0.0.1:${portOf(standbyUrl)},127.0.0.1:${portOf(url)}/postgres`
        const service = yield* makeNode(installation(`${both}?target_session_attrs=read-write`))
        const receiver = yield* makeReceiver
        const isReady = () => fetch(`${service.url}/readyz`).then(({ status }) => status === 200, () => false)
        const storm = yield* Effect.promise(() =>
          brew(() => Promise.resolve(service), receiver, { writers: 4, chains: 4 })
        )
        yield* Effect.promise(async () => {
          await storm.progress(25)
          primary.kill()
          await eventually(isReady, (ready) => !ready)
          await ask(standbyUrl, "SELECT pg_promote()")
          const promoted = Date.now()
          await eventually(isReady, (ready) => ready)
          await storm.progress(5)
          expect(Date.now() - promoted).toBeLessThan(5000)
          await storm.progress(25)
          expect(await storm.settle()).toEqual([])
          expect(service.child.exitCode).toBe(null)
        })
      })
  )

  it.scopedLive(
    "a node does not start on a server that takes no writes, and is not ready when its server stops taking writes",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make()
        const readOnly = (isOn: boolean) =>
          Effect.promise(() =>
            ask(
              server.url,
              `ALTER DATABASE ${new URL(server.url).pathname.slice(1)} SET default_transaction_read_only = ${isOn}`,
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
            )
          )
        const environment = installation(server.url)
        yield* readOnly(true)
        const refused = yield* Effect.promise(() => runStartlist(["serve"], { ...environment, PORT: "0" }))
        expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("the database takes no writes") })
        yield* Effect.promise(() =>
          ask(
            `${server.url}?options=-c%20default_transaction_read_only%3Doff`,
            `ALTER DATABASE ${new URL(server.url).pathname.slice(1)} RESET default_transaction_read_only`
          )
        )
        const service = yield* makeNode(environment)
        const status = async (path: string) => (await fetch(`${service.url}${path}`)).status
        const isUp = async () =>
          /^startlist_database_up (\d)/m.exec(await (await fetch(`${service.url}/metrics`)).text())?.[1]
        expect([yield* Effect.promise(() => status("/readyz")), yield* Effect.promise(isUp)]).toEqual([200, "1"])
        yield* readOnly(true)
        yield* Effect.promise(async () => {
          await eventually(() => status("/readyz"), (found) => found === 503)
          await eventually(isUp, (found) => found === "0")
          expect(await status("/healthz")).toBe(200)
          await expect(createUser(service, "athlete")).rejects.toThrow()
        })
      })
  )
})
