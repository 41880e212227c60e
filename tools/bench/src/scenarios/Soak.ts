/** Runs the service at a steady rate for many minutes, and detects drift. */
import { cpus } from "node:os"
import { setTimeout } from "node:timers/promises"
import * as Database from "../Database.ts"
import { type Effort, median } from "../Measurement.ts"
import * as Process from "../Process.ts"
import { count, type Judged, type Scenario, type Table } from "../Scenario.ts"
import * as SoakFixture from "../SoakFixture.ts"
import * as SteadyLoad from "../SteadyLoad.ts"

/** In bytes and rows, as the statistics of the server have them. */
interface Size {
  readonly bytes: number
  readonly dead: number
  readonly live: number
}

/** The state at the end of a slice. */
interface Look {
  /** Bytes of write-ahead log since the server was created. */
  readonly log: number
  readonly tables: Readonly<Record<string, Size>>
  readonly megabytes: number
  /** Milliseconds that all cores have been busy, and idle. */
  readonly busy: number
  readonly idle: number
}

const shown = ["deliveries", "grants", "registrations", "audit"] as const

const look = async ({ query }: Database.Fresh, pid: number): Promise<Look> => {
  const [row] = await query<{ readonly log: string; readonly tables: Look["tables"] }>(`SELECT
    pg_current_wal_insert_lsn() - '0/0' AS log,
    (SELECT json_object_agg(substr(relname, length('startlist_') + 1), json_build_object(
      'bytes', pg_total_relation_size(relid), 'dead', n_dead_tup, 'live', n_live_tup)) FROM pg_stat_user_tables) AS tables`)
  const times = cpus().map(({ times }) => times)
  return {
    log: Number(row?.log),
    tables: row?.tables ?? {},
    megabytes: Process.residentMegabytes(pid),
    busy: times.reduce((sum, { irq, nice, sys, user }) => sum + irq + nice + sys + user, 0),
    idle: times.reduce((sum, { idle }) => sum + idle, 0)
  }
}

/** The plan of a run: six windows of one slice or several, each of which lasts about a minute, or less. */
const planOf = (minutes: number) => {
  const perWindow = Math.max(1, Math.floor(minutes / 6))
  const windowSeconds = minutes * 10
  return { perWindow, slices: 6 * perWindow, sliceSeconds: windowSeconds / perWindow, windowSeconds }
}

/** Operations of the service, each with what the machine takes by itself for the same kind of work. */
const probeOf = {
  refresh: "bare commit",
  "bearer check": "bare request",
  change: "bare commit",
  delivery: "bare commit"
} as const

const names = ["refresh", "bearer check", "change", "delivery"] as const
const probes = ["bare request", "bare commit"] as const
const all = [...names, ...probes]

const millis = (value: number): string => value.toFixed(value < 10 ? 2 : 1)

/** A goal for the ratio of a late value to an early one. */
const flat = (what: string, late: number, early: number, atMost: number): Judged => ({
  what,
  result: `${(late / early).toFixed(2)} times`,
  goal: `at most ${atMost}`,
  isReached: late / early <= atMost
})

const latencies = (
  recorder: SteadyLoad.Recorder,
  { perWindow, slices }: ReturnType<typeof planOf>,
  labelOf: (slice: number) => string,
  deliveries: Judged
): Table => {
  const indices = [...Array(slices).keys()]
  const p99 = (name: string, from: number) =>
    median(indices.slice(from, from + perWindow).map((index) => recorder.slice(name, index).latency.p99))
  const late = (name: string) => p99(name, slices - perWindow)
  const failed = indices.map((index) => all.reduce((sum, name) => sum + recorder.slice(name, index).failed, 0))
  const failures = failed.reduce((sum, value) => sum + value, 0)
  return {
    title: "Latency",
    columns: ["until minute", ...all.flatMap((name) => [`${name} p50 ms`, "p99 ms"]), "failed"],
    rows: indices.map((index) => [
      labelOf(index),
      ...all.flatMap((name) => {
        const { p50, p99 } = recorder.slice(name, index).latency
        return [millis(p50), millis(p99)]
      }),
      String(failed[index])
    ]),
    goals: [
      ...names.flatMap((name) => {
        const probe = probeOf[name]
        const [before, after] = [p99(name, 0), late(name)]
        return [
          flat(`p99 of a ${name}, last sixth beside first`, after, before, 1.2),
          flat(`the same, relative to a ${probe}`, after / late(probe), before / p99(probe, 0), 1.2)
        ]
      }),
      { what: "requests", result: `${failures} failed`, goal: "none", isReached: failures === 0 },
      deliveries
    ]
  }
}

const resources = (
  looks: ReadonlyArray<Look>,
  recorder: SteadyLoad.Recorder,
  { perWindow, slices }: ReturnType<typeof planOf>,
  labelOf: (slice: number) => string
): Table => {
  const writing = names.filter((name) => name !== "bearer check")
  const rows = [...Array(slices).keys()].flatMap((index) => {
    const [before, after] = [looks[index], looks[index + 1]]
    if (before === undefined || after === undefined) return []
    const operations = writing.reduce((sum, name) => sum + recorder.slice(name, index).succeeded, 0)
    const busy = after.busy - before.busy
    return [{
      ...after,
      logged: (after.log - before.log) / operations,
      share: busy / (busy + after.idle - before.idle),
      dead: Object.values(after.tables).reduce((sum, { dead }) => sum + dead, 0)
    }]
  })
  const last = rows.slice(-2 * perWindow)
  const middle = rows.slice(-4 * perWindow, -2 * perWindow)
  const largest = (some: typeof rows, of: (row: typeof rows[number]) => number) => Math.max(...some.map(of))
  const both = (what: string, of: (row: typeof rows[number]) => number, atMost: number) =>
    flat(`${what}, last third beside the middle one`, largest(last, of), largest(middle, of), atMost)
  return {
    title: "Resources",
    columns: [
      "until minute",
      "log bytes",
      ...shown.map((name) => `${name} MB`),
      "deliveries",
      "dead rows",
      "service MB",
      "CPU"
    ],
    rows: rows.map(({ dead, logged, megabytes, share, tables }, index) => [
      labelOf(index),
      count(logged),
      ...shown.map((name) => ((tables[name]?.bytes ?? 0) / 1e6).toFixed(1)),
      count(tables["deliveries"]?.live ?? 0),
      count(dead),
      count(megabytes),
      `${Math.round(share * 100)} %`
    ]),
    goals: [
      ...shown.filter((name) => name !== "audit").map((name) =>
        both(`size of ${name}`, ({ tables }) => tables[name]?.bytes ?? 0, 1.1)
      ),
      flat(
        "memory of the service, median of the last third beside the middle one",
        median(last.map(({ megabytes }) => megabytes)),
        median(middle.map(({ megabytes }) => megabytes)),
        1.1
      ),
      both("log for each operation", ({ logged }) => logged, 1.2)
    ]
  }
}

/** Waits for the remaining deliveries. */
const settled = async (deliveries: SoakFixture.Soaked["deliveries"]): Promise<Judged> => {
  const patience = performance.now() + 120_000
  while (deliveries().missing > 0 && performance.now() < patience) await setTimeout(100)
  const { missing, repeated } = deliveries()
  return {
    what: "deliveries of each event to each subscription",
    result: `${missing} missing, ${repeated} repeated`,
    goal: "none",
    isReached: missing === 0 && repeated === 0
  }
}

const measure = async (
  plan: ReturnType<typeof planOf>,
  database: Database.Fresh
): Promise<ReadonlyArray<Table>> => {
  const { sliceSeconds, slices, windowSeconds } = plan
  let recorder: SteadyLoad.Recorder | undefined
  const soaked = await SoakFixture.start(database, windowSeconds, (due) => recorder?.ended("delivery", due, true))
  const warmUp = Math.min(60, windowSeconds)
  recorder = SteadyLoad.makeRecorder(performance.now() + warmUp * 1000, slices, sliceSeconds * 1000)
  const labelOf = (slice: number) => String(Number(((slice + 1) * sliceSeconds / 60).toFixed(2)))
  const load = SteadyLoad.run(soaked.flows, recorder)
  const looks: Array<Look> = []
  for (let slice = 0; slice <= slices; slice++) {
    await setTimeout(recorder.from + slice * sliceSeconds * 1000 - performance.now())
    looks.push(await look(database, soaked.pid))
    if (slice === 0) continue
    const { latency, succeeded } = recorder.slice("refresh", slice - 1)
    console.error(`    minute ${labelOf(slice - 1).padEnd(5)} ${succeeded} refreshes, p99 ${millis(latency.p99)} ms`)
  }
  await load
  const deliveries = await settled(soaked.deliveries)
  await soaked.stop()
  return [latencies(recorder, plan, labelOf, deliveries), resources(looks, recorder, plan, labelOf)]
}

const { bearer, change, refresh } = SoakFixture.rates

export const soak: Scenario = {
  name: "soak",
  title: "Many minutes at a steady rate",
  about: `
The service on PostgreSQL under a steady load (\`--minutes N\`). Each second has ${refresh} refreshes of ${
    count(SoakFixture.grants)
  }
grants in turn, ${bearer} bearer checks, and ${change} changes of registrations through the operator API. Each change is
delivered to ${SoakFixture.subscriptions} subscriptions. A request begins when it is due, even if earlier ones have no answer yet. Its latency counts
from that moment; the latency of a delivery counts from the moment at which its change was due. Access tokens live for two minutes,
so that a grant has about as many as with eight hours. Ended deliveries are stored for a sixth of the run instead of 30 days,
and the purge runs ten times in it. Autovacuum is on, and a checkpoint comes in each sixth of the run.

Beside the service run ${bearer} requests a second to a bare \`node:http\` server, and ${refresh} updates of a row, each committed. They
show how fast the machine itself was in each minute.

The p99 of a sixth is the median of the p99s of its minutes, so that one slow minute of the machine does not decide. Dead
rows and deliveries are estimates of PostgreSQL. "Log bytes" is the write-ahead log for each refresh, change and
delivery. The audit has no goal: it stores a line for each call of the operator API, for at least 30 days. "CPU" is
the share of the whole machine, with the load generator and PostgreSQL.
`,
  effortOf: (effort) => ({ ...effort, rounds: 1, seconds: (effort.minutes ?? 0) * 60 }),
  run: async ({ minutes }: Effort) => {
    if (minutes === undefined) {
      console.error("  left out: it needs --minutes N")
      return []
    }
    const plan = planOf(minutes)
    const database = await Database.fresh({
      autovacuum_naptime: `${Math.min(60, Math.ceil(plan.windowSeconds / 5))}s`,
      checkpoint_timeout: `${Math.max(30, Math.round(plan.windowSeconds))}s`
    })
    try {
      return await measure(plan, database)
    } finally {
      await database.drop()
    }
  }
}
