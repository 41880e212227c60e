/** A database for a test on the Citus cluster of `CITUS_URL`, the URL of its coordinator. */
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as Pg from "pg"
import * as TestDatabase from "./TestDatabase.ts"

/** The coordinator. Without it, tests of the cluster are skipped. */
export const url = process.env["CITUS_URL"]

type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

/** Runs statements on one connection. Returns the rows of the last one. */
const on = async (address: URL, texts: ReadonlyArray<string>): Promise<Rows> => {
  const client = new Pg.Client({ connectionString: address.href })
  await client.connect()
  try {
    let rows: Rows = []
    for (const text of texts) rows = (await client.query(text)).rows
    return rows
  } finally {
    await client.end()
  }
}

const changed = (address: URL, change: Partial<URL>): URL => Object.assign(new URL(address), change)

/** A database on the coordinator and all workers, without tables. `close` and `open` concern the first worker. */
export const layer: Layer.Layer<TestDatabase.TestDatabase> = Layer.scoped(
  TestDatabase.TestDatabase,
  Effect.gen(function*() {
    const coordinator = new URL(url ?? "")
    const name = `test_${randomBytes(8).toString("hex")}`
    const workers = yield* Effect.promise(() =>
      on(coordinator, ["SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeport"])
    )
    const servers = [
      coordinator,
      ...workers.map(({ nodename, nodeport }) =>
        changed(coordinator, { hostname: String(nodename), port: String(nodeport) })
      )
    ]
    const onEach = (text: string) =>
      Effect.promise(async () => {
        for (const server of servers) await on(server, ["SET citus.enable_create_database_propagation = off", text])
      })
    yield* Effect.acquireRelease(
      onEach(`CREATE DATABASE ${name} TEMPLATE template0`),
      () => onEach(`DROP DATABASE ${name} WITH (FORCE)`)
    )
    const address = changed(coordinator, { pathname: `/${name}` })
    yield* Effect.promise(async () => {
      for (const server of servers) await on(changed(server, { pathname: `/${name}` }), ["CREATE EXTENSION citus"])
      await on(address, [
        `SELECT citus_set_coordinator_host('${coordinator.hostname}', ${coordinator.port})`,
        ...workers.map(({ nodename, nodeport }) => `SELECT citus_add_node('${nodename}', ${nodeport})`)
      ])
    })
    const admin = yield* Effect.acquireRelease(
      Effect.sync(() => new Pg.Pool({ connectionString: address.href, max: 4 }).on("error", () => {})),
      (pool) => Effect.promise(() => pool.end())
    )
    const onWorker = (text: string) => Effect.promise(() => on(servers[1] ?? coordinator, [text]))
    const terminate = Effect.asVoid(
      onWorker(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    )
    const accept = (isAccepting: boolean) =>
      Effect.asVoid(onWorker(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAccepting}`))
    return TestDatabase.TestDatabase.of({
      url: Redacted.make(address.href),
      admin,
      terminate,
      close: Effect.zipRight(accept(false), terminate),
      open: accept(true)
    })
  })
)
