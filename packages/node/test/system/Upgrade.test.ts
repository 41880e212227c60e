/** An upgrade while nodes continue: several migrations under load, and nodes that are replaced in turn. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Redacted } from "effect"
import type { Pool } from "pg"
import { Migrations } from "@startlist/postgres"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { operate } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { brew } from "@startlist/test-support/Storm"
import { newer } from "./support/newer.ts"

/** Number of deliveries that have ended. */
const past = 1_000_000

const fill = (admin: Pool) =>
  Effect.promise(() =>
    admin.query(`INSERT INTO startlist_deliveries
        (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, ended_at,
          state, head)
      SELECT 1000000, 1000000, 'past', 'u', 'r', n, 1, 0, extract(epoch FROM now()) * 1000, 'd', false
      FROM generate_series(1, ${past}) n`)
  )

/** Reads every table in one transaction for a while, as a dump does. */
const dump = (admin: Pool, seconds: number) =>
  Effect.promise(async () => {
    const client = await admin.connect()
    await client.query("SET application_name = 'a dump'")
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    for (const table of ["grants", "deliveries", "registrations", "subscriptions"]) {
      await client.query(`SELECT count(*) FROM (SELECT 1 FROM startlist_${table} LIMIT 1) t`)
    }
    await client.query("SELECT pg_sleep($1)", [seconds])
    await client.query("COMMIT")
    client.release()
  })

describe("an upgrade", () => {
  it.scopedLive(
    "a migration under load, during a dump, with a million past deliveries: no request and no start fails",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* makeDatabase
        const environment = installation(Redacted.value(url))
        const [one, other] = [yield* makeNode(environment), yield* makeNode(environment)]
        yield* fill(admin)
        const receiver = yield* makeReceiver
        let turn = 0
        const storm = yield* Effect.promise(() =>
          brew(() => Promise.resolve(turn++ % 2 === 0 ? one : other), receiver, { writers: 8, chains: 8, strict: true })
        )
        yield* Effect.promise(() => storm.progress(25))
        const said: Array<string> = []
        const migrate = Effect.scoped(
          Effect.provide(
            Migrations.run(newer),
            PgClient.layer({ url })
          )
        ).pipe(Effect.provide(Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ message }) => said.push(String(message)))
        )))
        const dumping = yield* Effect.fork(dump(admin, 8))
        yield* Effect.sleep("200 millis")
        // Two nodes of the newer program start in parallel.
        const migrating = yield* Effect.fork(Effect.all([migrate, migrate], { concurrency: 2 }))
        const late = yield* makeNode(environment)
        yield* Effect.promise(() => storm.progress(50))
        yield* Fiber.join(dumping)
        yield* Fiber.join(migrating)
        yield* Effect.promise(() => storm.progress(25))
        expect(said.join("\n")).toMatch(
          /9001_deliveries waits for a dump \(process \d+, for \d+ s\), and tries again in 1 s/
        )
        expect(said.join("\n")).toMatch(/9005_index takes long; requests continue/)
        const latest = yield* makeNode(environment)
        expect(yield* Effect.promise(() => storm.settle())).toEqual([])
        for (const node of [one, other, late, latest]) {
          expect((yield* Effect.promise(() => operate(node, "GET", "/applications"))).status).toBe(200)
        }
        const { rows } = yield* Effect.promise(() => admin.query("SELECT name FROM startlist_migrations ORDER BY name"))
        expect(rows.map(({ name }) => name)).toEqual(Object.keys(newer.migrations))
      })
  )
})
