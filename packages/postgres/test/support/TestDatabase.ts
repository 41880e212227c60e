/**
 * A real PostgreSQL for tests: `TEST_DATABASE_URL`, or else a server of our own for the test file. Each `acquire` gives
 * an empty schema, gone with the scope.
 */
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { randomBytes } from "node:crypto"
import * as Pg from "pg"
import { afterAll } from "vitest"
import * as TestServer from "./TestServer.ts"

/** A database with an empty schema in front of the search path. */
export class TestDatabase extends Context.Tag("@startlist/postgres/test/TestDatabase")<TestDatabase, {
  readonly url: Redacted.Redacted<string>
  /** Another way into the same schema, for looking and for mischief. */
  readonly admin: Pg.Pool
  /** Breaks every connection into the schema, as an administrator can. */
  readonly terminate: Effect.Effect<void>
}>() {}

/** One server for all tests of a file: started by the first that needs it, stopped after the last. */
const scope = Effect.runSync(Scope.make())
const shared = Effect.runSync(Effect.cached(Scope.extend(TestServer.make(), scope)))
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const url = Effect.suspend(() => {
  const given = process.env.TEST_DATABASE_URL
  return given ? Effect.succeed(given) : Effect.map(shared, (server) => server.url)
})

/** The same database with this schema in front; its connections bear the schema's name. */
export const inSchema = (base: string, schema: string): string => {
  const address = new URL(base)
  address.searchParams.set("options", `-c search_path=${schema}`)
  address.searchParams.set("application_name", schema)
  return address.href
}

/** Plain connections, which may be broken by a test or by the end of the server. */
const pool = (connectionString: string, max: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const connections = new Pg.Pool({ connectionString, max })
      connections.on("error", () => {})
      return connections
    }),
    (connections) => Effect.promise(() => connections.end())
  )

/** An empty schema in a database. */
export const schemaOf = (base: string) =>
  Effect.gen(function*() {
    const schema = `test_${randomBytes(8).toString("hex")}`
    const owner = yield* pool(base, 1)
    yield* Effect.acquireRelease(
      Effect.promise(() => owner.query(`CREATE SCHEMA ${schema}`)),
      () => Effect.promise(() => owner.query(`DROP SCHEMA ${schema} CASCADE`))
    )
    const connectionString = inSchema(base, schema)
    const admin = yield* pool(connectionString, 4)
    const terminate = Effect.promise(() =>
      owner.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [schema])
    ).pipe(Effect.asVoid)
    return TestDatabase.of({ url: Redacted.make(connectionString), admin, terminate })
  })

/** A server, and an empty schema in it. */
export const layer: Layer.Layer<TestDatabase> = Layer.scoped(TestDatabase, Effect.flatMap(url, schemaOf))
