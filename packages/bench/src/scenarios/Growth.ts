/** What the hot paths cost when there is more of everything. */
import * as Contender from "../Contender.ts"
import * as Database from "../Database.ts"
import * as Grants from "../Grants.ts"
import type { Effort, Measurement } from "../Measurement.ts"
import * as Process from "../Process.ts"
import { connections } from "../Protocol.ts"
import { compare, count, type Goal, type Scenario, type Table } from "../Scenario.ts"
import * as Subscriptions from "../Subscriptions.ts"
import { subscriptions } from "../workers/Delivering.ts"

/** The largest of all sizes, beside the smallest: its rate is at least 1/1.3 of it. */
const flat = (smallest: string): Goal => ({ than: smallest, atLeast: 0.77 })

/** Sizes in which each database is made once; the largest is judged beside the smallest. */
const grow = async (
  title: string,
  sizes: ReadonlyArray<number>,
  work: (size: number) => Omit<Contender.Work, "name" | "role">,
  of: string,
  effort: Effort
): Promise<Table> => {
  const nameOf = (size: number) => `${count(size)} ${of}`
  const largestFirst = [...sizes].sort((a, b) => b - a)
  return await Contender.working(
    largestFirst.map((size, index) => ({
      name: nameOf(size),
      role: index === 0 ? "ours" : "peer",
      ...work(size)
    })),
    (contenders) =>
      compare({ title, contenders, goals: [flat(nameOf(Math.min(...sizes)))], ratio: "the first is" }, effort)
  )
}

interface Size {
  readonly bytes: string
  readonly refreshes: string
}

/** All grants refreshed again and again, with autovacuum as it is shipped: the tables and the rate, early and late. */
const refreshed = async (grants: number, times: number, effort: Effort): Promise<Table> => {
  const database = await Database.fresh()
  const look = async () => {
    const [row] = await database.query<Size>(`SELECT
      (SELECT sum(version - 1) FROM startlist_grants) AS refreshes,
      (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'startlist%') AS bytes`)
    return { bytes: Number(row?.bytes), times: Number(row?.refreshes) / grants }
  }
  const rows: Array<{ readonly bytes: number; readonly times: number; readonly perSecond: number }> = []
  try {
    await Grants.fill(grants)(database)
    const running = await Process.start("workers/Stores", [
      database.url,
      "in turn",
      String(connections),
      String(grants)
    ])
    const refresh = async (count: number) => {
      const began = performance.now()
      // Nothing is measured while it warms up.
      const { perSecond } = await running.ask<Measurement>({ ...effort, warmUpCalls: count, warmUpSeconds: 3600 })
      rows.push({ ...await look(), perSecond })
      console.error(`    ${count} refreshes: ${Math.round((performance.now() - began) / 1000)} s`)
    }
    await refresh(grants)
    await refresh(grants * (times - 2))
    await running.stop()
  } finally {
    await database.drop()
  }
  const [first, last] = rows
  const ratio = (of: (row: typeof rows[number]) => number) => first && last ? of(last) / of(first) : Number.NaN
  const growth = ratio(({ bytes }) => bytes)
  const pace = ratio(({ perSecond }) => perSecond)
  return {
    title: "Refreshing every grant again and again",
    columns: ["refreshes of each grant", "MB", "refreshes per second"],
    rows: rows.map(({ bytes, perSecond, times }) => [times.toFixed(1), count(bytes / 1e6), count(perSecond)]),
    goals: [
      { goal: "at most 1.3 times the size", result: growth.toFixed(2), isReached: growth <= 1.3 },
      { goal: "at least 0.77 times the rate", result: pace.toFixed(2), isReached: pace >= 0.77 }
    ]
  }
}

/** The same in memory: the heap after a collection of garbage. */
const heap = async (effort: Effort): Promise<Table> => {
  const running = await Process.start("workers/Heap", [])
  const [few, many] = effort.isQuick ? [1e4, 1e5] : [1e4, 1e6]
  const early = await running.ask<{ readonly megabytes: number }>({ refreshes: few })
  const late = await running.ask<{ readonly megabytes: number }>({ refreshes: many - few })
  await running.stop()
  const ratio = late.megabytes / early.megabytes
  return {
    title: "The heap, in memory",
    columns: ["refreshes of 1 000 grants", "MB"],
    rows: [[count(few), early.megabytes.toFixed(1)], [count(many), late.megabytes.toFixed(1)]],
    goals: [{ goal: "at most 1.05 times the size", result: ratio.toFixed(2), isReached: ratio <= 1.05 }]
  }
}

export const growth: Scenario = {
  name: "growth",
  title: "Cost as it grows, on PostgreSQL",
  about: `
The stores, without HTTP, over more and more of what they keep, loaded in bulk. Refreshes and bearer checks are of random
grants, by ${connections} callers. The queue has ${subscriptions} subscriptions; a batch is claimed and put back behind the others,
so that it stays as long as it is. The goal is that the largest is as fast as the smallest, within 1.3 times.
`,
  run: async (effort) => {
    const grants = effort.isQuick ? [1e3, 1e5] : [1e3, 1e4, 1e5, 1e6]
    const pending = effort.isQuick ? [1e3, 1e5] : [1e3, 1e4, 1e5, 1e6]
    const ended = effort.isQuick ? [1e3, 1e6] : [1e3, 1e5, 1e7]
    const stores = (what: string) => (size: number) => ({
      program: "Stores",
      args: [what, String(connections), String(size)],
      prepare: Grants.fill(size)
    })
    const queue = (what: string, queued: (size: number) => Subscriptions.Queue) => (size: number) => ({
      program: "Claiming",
      args: [what],
      prepare: Subscriptions.fill(1, subscriptions, queued(size))
    })
    const patient = { ...effort, warmUpCalls: 200 }
    return [
      await refreshed(effort.isQuick ? 1000 : 10_000, 100, effort),
      await heap(effort),
      await grow("Refreshing any of the grants", grants, stores("refresh"), "grants", effort),
      await grow("Checking a bearer of any of the grants", grants, stores("bearer"), "grants", effort),
      await grow(
        "Claiming and settling deliveries",
        pending,
        queue("claim", (size) => ({ ...Subscriptions.usual, pending: size })),
        "pending",
        patient
      ),
      await grow(
        "Claiming and settling among the history",
        ended,
        queue("claim", (size) => ({ ended: size, pending: 10_000 })),
        "attempts in the past",
        patient
      ),
      await grow(
        "Listing the newest 50 deliveries of an application",
        ended,
        queue("list", (size) => ({ ended: size, pending: 10_000 })),
        "attempts in the past",
        patient
      )
    ]
  }
}
