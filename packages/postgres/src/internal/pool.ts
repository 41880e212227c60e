/** A pool of connections to PostgreSQL, and the direct way through it: prepared statements, no spans, a deadline. */
import { SqlError } from "@effect/sql/SqlError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import type { Database } from "../Database.ts"
import { deadlineMillis, timedOut } from "./deadline.ts"
import * as Prepared from "./prepared.ts"

/** How to reach PostgreSQL. */
export interface Connection {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: Redacted.Redacted<string>
  /** Default 10. */
  readonly maxConnections?: number | undefined
}

const settings = ({ url }: Connection): Pg.ClientConfig => ({
  connectionString: Redacted.value(url),
  application_name: "startlist",
  keepAlive: true,
  connectionTimeoutMillis: deadlineMillis
})

/** A pool for the service. A statement ends at the deadline: on the server, and here if the server is not heard of. */
export const make = (connection: Connection): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  acquire({
    ...settings(connection),
    max: connection.maxConnections ?? 10,
    statement_timeout: deadlineMillis,
    query_timeout: deadlineMillis + 500
  })

/** One connection on which statements may take their time: for migrations. */
export const makePatient = (connection: Connection): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  acquire({ ...settings(connection), max: 1 })

/**
 * Servers compile a plan that they think dear, each time it runs: that takes longer than any statement of ours. And they
 * plan anew, each time, what seems dearer for all values than for those at hand: to list the newest of a long history
 * took twice as long for that. Ours have one plan for all values, and a test looks at it.
 */
const planning = "SET jit = off; SET plan_cache_mode = force_generic_plan"

const acquire = (config: Pg.PoolConfig) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({ ...config, onConnect: (client) => client.query(planning) })
      // A connection that breaks while idle leaves the pool; there is nothing else to do.
      pool.on("error", () => {})
      return pool
    }),
    (pool) =>
      Effect.promise(() => pool.end()).pipe(
        Effect.interruptible,
        Effect.timeoutOption(Duration.seconds(1)),
        Effect.ignoreLogged
      )
  )

/** Statements outside of transactions, each on whatever connection is free. One that fails takes its connection along. */
export const direct = (pool: Pg.Pool): Database.Direct => (statement, parameters) =>
  Effect.async((resume) => {
    const fail = (cause: unknown) => resume(Effect.fail(new SqlError({ cause, message: "a statement failed" })))
    const timer = setTimeout(() => fail(timedOut().cause), deadlineMillis)
    const end = (error: Error | null | undefined, rows: ReadonlyArray<object> = []) => {
      clearTimeout(timer)
      if (error) fail(error)
      else resume(Effect.succeed(rows))
    }
    pool.connect((error, client, release) => {
      if (client === undefined) return end(error ?? new Error("there is no connection"))
      client.on("error", ignore)
      Prepared.run(client, statement, parameters, (error, rows) => {
        client.off("error", ignore)
        release(error ?? undefined)
        end(error, rows)
      })
    })
  })

/** When a connection breaks, its statement is told. */
const ignore = () => {}

/** A connection of its own that hears notifications of a channel, until it breaks. */
export const listen = (
  connection: Connection,
  channel: string,
  heard: (payload: string) => void
): Effect.Effect<never, SqlError> =>
  Effect.async((resume) => {
    const client = new Pg.Client(settings(connection))
    const fail = (cause: unknown) => resume(Effect.fail(new SqlError({ cause, message: "not listening" })))
    client.on("error", fail)
    client.on("end", () => fail(new Error("the connection has ended")))
    client.on("notification", ({ payload }) => heard(payload ?? ""))
    client.connect().then(() => client.query(`LISTEN ${client.escapeIdentifier(channel)}`)).catch(fail)
    return Effect.sync(() => {
      client.end().catch(() => {})
    })
  })
