/** The stores on a Citus cluster, beside a database on its coordinator alone. */
import { create } from "@startlist/test-support/CitusCluster"
import * as Postgres from "@startlist/postgres/Postgres"
import { Effect, Redacted } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import * as Pg from "pg"
import type * as Database from "../Database.ts"
import * as Grants from "../Grants.ts"
import { type Effort, type Measurement, median } from "../Measurement.ts"
import * as Process from "../Process.ts"
import { connections } from "../Protocol.ts"
import { count, type Scenario, type Table } from "../Scenario.ts"
import * as Subscriptions from "../Subscriptions.ts"
import { subscriptions } from "../workers/Delivering.ts"

/** Processor time of a server's processes in microseconds, by the process identifier of the first. */
const processorTime = (first: number): number => {
  const ticks = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).reduce((sum, name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
      // Fields 4 and 14 to 17 of proc(5): parent, and the time of a process and of its children that have ended.
      const isOurs = Number(name) === first || Number(stat[1]) === first
      return isOurs
        ? sum + stat.slice(11, Number(name) === first ? 15 : 13).reduce((all, one) => all + Number(one), 0)
        : sum
    } catch {
      // It has ended in between.
      return sum
    }
  }, 0)
  return ticks * 10_000
}

/** The first processes of coordinator and workers, which must run on this machine. */
const firstProcesses = async (url: string): Promise<ReadonlyArray<number>> => {
  const client = new Pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ readonly result: string }>(
    `SELECT result FROM (SELECT -1 AS nodeport, split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS result
      UNION ALL SELECT nodeport, result FROM run_command_on_workers(
        $$SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)$$
      )) p ORDER BY nodeport`
  )
  await client.end()
  return rows.map(({ result }) => Number(result))
}

interface Cost extends Measurement {
  /** Microseconds of processor time per operation. */
  readonly coordinator: number
  readonly workers: number
}

/** A fresh database of the cluster. */
const fresh = async (citus: string): Promise<Database.Fresh> => {
  const { drop, url } = await create(citus)
  const query: Database.Fresh["query"] = async (text, values) => {
    const client = new Pg.Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(text, values && [...values])).rows
    } finally {
      await client.end()
    }
  }
  return { url, query, drop, settle: async () => void await query("VACUUM ANALYZE") }
}

interface Work {
  readonly title: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly prepare: (database: Database.Fresh) => Promise<void>
}

const measure = async (citus: string, isDistributed: boolean, work: Work, effort: Effort): Promise<Cost> => {
  const database = await fresh(citus)
  try {
    await work.prepare(database)
    if (isDistributed) {
      await Effect.runPromise(Postgres.migrate({ url: Redacted.make(database.url), distributed: true }))
      await database.settle()
    }
    const [first = 0, ...others] = await firstProcesses(database.url)
    const running = await Process.start(`workers/${work.program}`, [database.url, ...work.args])
    try {
      await running.ask({ ...effort, seconds: 0 })
      const times = () => [processorTime(first), others.reduce((sum, pid) => sum + processorTime(pid), 0)] as const
      const before = times()
      const measured = await running.ask<Measurement>({ ...effort, warmUpCalls: 0 })
      const after = times()
      const operations = measured.perSecond * effort.seconds
      return {
        ...measured,
        coordinator: (after[0] - before[0]) / operations,
        workers: (after[1] - before[1]) / operations
      }
    } finally {
      await running.stop()
    }
  } finally {
    await database.drop()
  }
}

const compare = async (citus: string, work: Work, effort: Effort): Promise<Table> => {
  const alone: Array<Cost> = []
  const together: Array<Cost> = []
  for (let round = 1; round <= effort.rounds; round++) {
    alone.push(await measure(citus, false, work, effort))
    together.push(await measure(citus, true, work, effort))
  }
  const row = (name: string, costs: ReadonlyArray<Cost>) => [
    name,
    count(median(costs.map(({ perSecond }) => perSecond))),
    median(costs.map(({ latency }) => latency?.p50 ?? Number.NaN)).toFixed(2),
    count(median(costs.map(({ coordinator }) => coordinator))),
    count(median(costs.map(({ workers }) => workers)))
  ]
  return {
    title: work.title,
    columns: ["", "per second", "p50 ms", "µs of the coordinator", "µs of the workers"],
    rows: [row("one server", alone), row("distributed", together)],
    goals: []
  }
}

export const distributed: Scenario = {
  name: "distributed",
  title: "The stores on a Citus cluster",
  about: `
${connections} callers of the stores refresh any of the grants or find an access token, and a worker claims and settles batches of
deliveries of ${subscriptions} subscriptions: in a database on the coordinator of a cluster alone, and in one whose tables are
distributed over its workers. Beside the rates is the processor time of the servers for each operation. All servers, the stores and
the callers share one machine, so the rates show what distribution costs, and the processor times what each server would carry
on a machine of its own. Needs \`CITUS_URL\`. Its servers have settings of their own; those of the figures are Citus 13.2 on
PostgreSQL 15 with defaults, a coordinator and two workers, and four shards.
`,
  run: async (effort) => {
    const citus = process.env["CITUS_URL"]
    if (citus === undefined) return []
    const grants = effort.isQuick ? 1000 : 100_000
    const stores = (title: string, what: string): Work => ({
      title,
      program: "Stores",
      args: [what, String(connections), String(grants)],
      prepare: Grants.fill(grants)
    })
    return [
      await compare(citus, stores("Refreshing a token", "refresh"), effort),
      await compare(citus, stores("Finding an access token", "bearer"), effort),
      await compare(citus, {
        title: "Claiming and settling deliveries",
        program: "Claiming",
        args: ["claim"],
        prepare: Subscriptions.fill(1, subscriptions, { ended: 20_000, pending: 10_000 })
      }, { ...effort, warmUpCalls: 50 })
    ]
  }
}
