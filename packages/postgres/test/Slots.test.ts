/** Every connection gives its slot back, also if it breaks: a slot that is lost is lost until the process ends. */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import type * as Pg from "pg"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as Pool from "../src/internal/pool.ts"

/** The work of a connection when it breaks. */
const works = {
  "no statement": () => Promise.resolve(),
  "a transaction": (client: Pg.ClientBase) => client.query("BEGIN"),
  "a statement": (client: Pg.ClientBase) => {
    client.query("SELECT pg_sleep(60)").catch(() => {})
    return Promise.resolve()
  }
}

/** How it breaks. */
const breaks = {
  "the server ends it": (client: Pg.PoolClient, other: Pg.ClientBase) =>
    other.query("SELECT pg_terminate_backend($1)", [Reflect.get(client, "processID")]),
  "the network resets it": async (client: Pg.PoolClient) => {
    client.connection.stream.destroy(new Error("reset"))
  }
}

describe("a slot", () => {
  for (const [work, begin] of Object.entries(works)) {
    for (const [fault, fail] of Object.entries(breaks)) {
      for (const order of ["before its release", "after its release"]) {
        it.scopedLive(`is free again if ${fault} during ${work}, ${order}`, () =>
          Effect.gen(function*() {
            const { url } = yield* TestDatabase.TestDatabase
            const pool = yield* Pool.make({ url, maxConnections: 1 })
            const others = yield* Pool.make({ url, maxConnections: 1 })
            yield* Effect.promise(async () => {
              const client = await pool.connect()
              client.on("error", () => {})
              const ended = new Promise((resolve) => client.once("end", resolve))
              await begin(client)
              if (order === "after its release") client.release()
              const other = await others.connect()
              await fail(client, other)
              other.release()
              await ended
              if (order === "before its release") client.release()
              expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
              expect([pool.totalCount, pool.isWaiting]).toEqual([1, false])
            })
          }).pipe(Effect.provide(TestDatabase.layerEmpty)))
      }
    }
  }
})
