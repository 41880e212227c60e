/**
 * A PostgreSQL database for a test. All tests of a run share one server (`databases.ts`); each layer creates a database of
 * its own and drops it with its scope.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as Pg from "pg"
import { inject } from "vitest"
import type { Databases } from "./databases.ts"

export class TestDatabase extends Context.Tag("@startlist/test-support/TestDatabase")<TestDatabase, {
  readonly url: Redacted.Redacted<string>
  /** Connections besides those of the code under test. */
  readonly admin: Pg.Pool
  /** Ends every connection to the database except those of this layer. */
  readonly terminate: Effect.Effect<void>
  /** Ends every connection and refuses new ones, like an unavailable server. */
  readonly close: Effect.Effect<void>
  /** Accepts connections again. */
  readonly open: Effect.Effect<void>
}>() {}

/** Connections that a test, or the end of the server, may end. */
const pool = (connectionString: string, max: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const connections = new Pg.Pool({ connectionString, max })
      connections.on("error", () => {})
      return connections
    }),
    (connections) => Effect.promise(() => connections.end())
  )

const databases = Effect.promise(async (): Promise<Databases> => {
  const response = await fetch(inject("databases"))
  if (!response.ok) throw new Error(`there is no database: ${await response.text()}`)
  return await response.json()
})

/** A database on a server, a copy of `template` or empty. `options` are those of CREATE DATABASE. */
export const create = (server: string, template = "template0", options = "") =>
  Effect.gen(function*() {
    const name = `test_${randomBytes(8).toString("hex")}`
    const owner = yield* pool(server, 1)
    yield* Effect.acquireRelease(
      Effect.promise(() => owner.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${options}`)),
      // The server may have been stopped by then.
      () => Effect.ignore(Effect.tryPromise(() => owner.query(`DROP DATABASE ${name} WITH (FORCE)`)))
    )
    const address = new URL(server)
    address.pathname = `/${name}`
    const admin = yield* pool(address.href, 4)
    const terminate = Effect.promise(() =>
      owner.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name])
    ).pipe(Effect.asVoid)
    const accept = (isAccepting: boolean) =>
      Effect.promise(() => owner.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAccepting}`))
    return TestDatabase.of({
      url: Redacted.make(address.href),
      admin,
      terminate,
      close: Effect.zipRight(accept(false), terminate),
      open: Effect.asVoid(accept(true))
    })
  })

/** A database with the tables of the stores and of the service. */
export const make = Effect.flatMap(databases, ({ server, template }) => create(server, template))

/** As `make`. */
export const layer: Layer.Layer<TestDatabase> = Layer.scoped(TestDatabase, make)

/** A database without tables, with these options of CREATE DATABASE. */
export const layerEmptyWith = (options: string): Layer.Layer<TestDatabase> =>
  Layer.scoped(TestDatabase, Effect.flatMap(databases, ({ server }) => create(server, "template0", options)))

/** A database without tables. */
export const layerEmpty: Layer.Layer<TestDatabase> = layerEmptyWith("")
