/** The size of tables and heap while grants are refreshed. */
import * as Database from "../Database.ts"
import * as Grants from "../Grants.ts"
import type { Effort, Measurement } from "../Measurement.ts"
import * as Process from "../Process.ts"
import { connections } from "../Protocol.ts"
import { count, type Judged, type Scenario, type Table } from "../Scenario.ts"
import type { Times } from "../workers/Stores.ts"

interface Size {
  readonly bytes: string
  readonly refreshes: string
}

/** The size after a number of refreshes, and then the speed. */
interface Templates extends Times {
  readonly bytes: number
  readonly perSecond: number
  /** Refreshes per grant. */
  readonly refreshes: number
}

const sizeAtMost = (limit: number, ratio: number): Judged => ({
  what: "the tables",
  result: `${ratio.toFixed(2)} times the size`,
  goal: `at most ${limit}`,
  isReached: ratio <= limit
})

/** Refreshes all grants repeatedly with default autovacuum. Compares tables and statements, early and late. */
const refreshed = async (
  title: string,
  pace: "every eight hours" | "in turn",
  grants: number,
  times: number,
  effort: Effort
): Promise<Table> => {
  const database = await Database.fresh()
  try {
    await Grants.fill(grants)(database)
    const args = [database.url, pace, String(connections), String(grants)]
    const running = await Process.start("workers/Stores", args)
    const size = async () => {
      const [row] = await database.query<Size>(`SELECT
        (SELECT sum(version - 1) FROM startlist_grants) AS refreshes,
        (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
          WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace) AS bytes`)
      return { bytes: Number(row?.bytes), refreshes: Number(row?.refreshes) / grants }
    }
    const look = async (calls: number): Promise<Templates> => {
      const began = performance.now()
      await running.ask({ ...effort, warmUpCalls: calls, warmUpSeconds: 3600, seconds: 0 })
      console.error(`    ${count(calls)} refreshes: ${Math.round((performance.now() - began) / 1000)} s`)
      const found = await size()
      return { ...found, ...await running.ask<Measurement & Times>({ ...effort, warmUpCalls: 0 }) }
    }
    const first = await look(grants)
    const { refreshes } = await size()
    const last = await look(Math.round(grants * (times - refreshes)))
    await running.stop()
    const rate = last.perSecond / first.perSecond
    return {
      title,
      columns: ["refreshes of each grant", "MB", "then refreshes per second", "find, p50 ms", "save, p50 ms"],
      rows: [first, last].map(({ bytes, find, perSecond, refreshes, save }) => [
        refreshes.toFixed(1),
        count(bytes / 1e6),
        count(perSecond),
        find.p50.toFixed(2),
        save.p50.toFixed(2)
      ]),
      goals: [
        sizeAtMost(1.3, last.bytes / first.bytes),
        {
          what: "refreshes",
          result: `${rate.toFixed(2)} times the rate`,
          goal: "at least 0.77",
          isReached: rate >= 0.77
        }
      ]
    }
  } finally {
    await database.drop()
  }
}

/** The same in memory: the heap after a collection of garbage. */
const heap = async (effort: Effort): Promise<Table> => {
  const running = await Process.start("workers/Heap", [])
  const [few, many] = effort.isQuick ? [1e4, 1e5] : [1e4, 1e6]
  const early = await running.ask<{ readonly megabytes: number }>({ refreshes: few })
  const late = await running.ask<{ readonly megabytes: number }>({ refreshes: many - few })
  await running.stop()
  return {
    title: "The heap, in memory",
    columns: ["refreshes of 1 000 grants", "MB"],
    rows: [[count(few), early.megabytes.toFixed(1)], [count(many), late.megabytes.toFixed(1)]],
    goals: [sizeAtMost(1.05, late.megabytes / early.megabytes)]
  }
}

export const space: Scenario = {
  name: "space",
  title: "Space, as grants are refreshed",
  about: `
On PostgreSQL, 10 000 grants are refreshed a hundred times each, by ${connections} callers of the stores, with autovacuum as it
is shipped: the size of all tables with their indexes, and then the time that a find and a save take for their caller. In
memory, 1 000 grants are refreshed a million times: the heap after a collection of garbage. A client in use refreshes every
eight hours, when its access token expires, and the clock of the programs moves as much. Refreshes within seconds are the
worst case: each grant then holds twenty live access tokens.
`,
  run: async (effort) => {
    const grants = effort.isQuick ? 1000 : 10_000
    return [
      await refreshed("Each grant refreshed every eight hours", "every eight hours", grants, 100, effort),
      await refreshed("Each grant refreshed within seconds", "in turn", grants, 100, effort),
      await heap(effort)
    ]
  }
}
