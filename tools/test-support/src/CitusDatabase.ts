/** A database for a test on the Citus cluster of `CITUS_URL`, the URL of its coordinator. */
import { Effect, Layer, Redacted } from "effect"
import * as Pg from "pg"
import { create } from "./CitusCluster.ts"
import * as TestDatabase from "./TestDatabase.ts"

/** The coordinator. Without it, tests of the cluster are skipped. */
export const url = process.env["CITUS_URL"]

/** A database on the coordinator and all workers, without tables. `close` and `open` concern the first worker. */
export const layer: Layer.Layer<TestDatabase.TestDatabase> = Layer.scoped(
  TestDatabase.TestDatabase,
  Effect.gen(function*() {
    const database = yield* Effect.acquireRelease(
      Effect.promise(() => create(url ?? "")),
      ({ drop }) => Effect.promise(drop)
    )
    const admin = yield* Effect.acquireRelease(
      Effect.sync(() => new Pg.Pool({ connectionString: database.url, max: 4 }).on("error", () => {})),
      (pool) => Effect.promise(() => pool.end())
    )
    const onWorker = (text: string) => Effect.asVoid(Effect.promise(() => database.beside(0, [text])))
    const terminate = onWorker(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`
    )
    const accept = (isAccepting: boolean) =>
      onWorker(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS ${isAccepting}`)
    return TestDatabase.TestDatabase.of({
      url: Redacted.make(database.url),
      admin,
      terminate,
      close: Effect.zipRight(accept(false), terminate),
      open: accept(true)
    })
  })
)
