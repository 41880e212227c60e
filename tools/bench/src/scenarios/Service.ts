/** The whole service: its start, its memory, and the speed of the embedded database. */
import * as Cleanup from "../Cleanup.ts"
import * as Contender from "../Contender.ts"
import * as Database from "../Database.ts"
import * as Load from "../Load.ts"
import { type Effort, median } from "../Measurement.ts"
import * as Process from "../Process.ts"
import { asking, connections, type Ready, refreshing } from "../Protocol.ts"
import { compare, count, type Judged, type Scenario, type Table } from "../Scenario.ts"
import * as Service from "../Service.ts"
import { deliver } from "./Deliveries.ts"

/** Goals for the embedded database: seconds until the first start is ready and until later ones are, and idle MB. */
const goals = { first: 0.7, again: 0.5, megabytes: 220 }

interface Start {
  readonly millis: number
  readonly megabytes: number
}

const startOnce = async (folder: string, databaseUrl?: string): Promise<Start> => {
  const { millis, pid, stop } = await Service.start(folder, databaseUrl, "anywhere")
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const megabytes = Process.residentMegabytes(pid)
  await stop()
  return { millis, megabytes }
}

/** Measures the first start without data, and a later one. */
const starts = async ({ rounds }: Effort): Promise<Table> => {
  const found = new Map<string, Array<Start>>()
  const add = (name: string, start: Start) => {
    found.set(name, [...found.get(name) ?? [], start])
    console.error(`    ${name.padEnd(40)} ${Math.round(start.millis)} ms, ${Math.round(start.megabytes)} MB`)
  }
  for (let round = 0; round < rounds; round++) {
    const { path, remove } = Cleanup.temporaryFolder()
    add("embedded database, first start", await startOnce(path))
    add("embedded database, again", await startOnce(path))
    await remove()
    const database = await Database.fresh()
    add("PostgreSQL, first start", await startOnce(path, database.url))
    add("PostgreSQL, again", await startOnce(path, database.url))
    await database.drop()
  }
  const rows = [...found].map(([name, all]) => ({
    name,
    millis: all.map(({ millis }) => millis),
    megabytes: median(all.map(({ megabytes }) => megabytes))
  }))
  const ofEmbedded = rows.filter(({ name }) => name.startsWith("embedded"))
  const judge = (what: string, values: ReadonlyArray<number>, unit: string, atMost: number): Judged => {
    const largest = Math.max(...values)
    return {
      what: `embedded database, ${what}`,
      result: `${largest.toPrecision(3)} ${unit}`,
      goal: `at most ${atMost} ${unit}`,
      isReached: largest <= atMost
    }
  }
  const secondsOf = (which: string) =>
    ofEmbedded.filter(({ name }) => name.endsWith(which)).map(({ millis }) => median(millis) / 1000)
  return {
    title: "Until it is ready",
    columns: ["", "ms", "range", "idle MB"],
    rows: rows.map(({ megabytes, millis, name }) => [
      name,
      count(median(millis)),
      `${count(Math.min(...millis))} – ${count(Math.max(...millis))}`,
      count(megabytes)
    ]),
    goals: [
      judge("first start", secondsOf("first start"), "s", goals.first),
      judge("again", secondsOf("again"), "s", goals.again),
      judge("idle", ofEmbedded.map(({ megabytes }) => megabytes), "MB", goals.megabytes)
    ]
  }
}

/** Resident memory of the service after increasing numbers of requests: half refresh, half read a resource. */
const memory = async ({ isQuick }: Effort): Promise<Table> => {
  const total = isQuick ? 100_000 : 1_000_000
  const { path } = Cleanup.temporaryFolder()
  const database = await Database.fresh()
  // An embedding server on the same database creates the tokens.
  const masterKey = Service.makeKey()
  const fixture = await Process.start<Ready>("servers/Startlist", ["postgres", database.url], "measured", {
    env: { MASTER_KEY: masterKey }
  })
  await fixture.stop()
  const service = await Service.start(path, database.url, "measured", process.execPath, masterKey)
  const seen: Array<{ readonly requests: number; readonly megabytes: number }> = []
  const half = connections / 2
  const conversations = [...refreshing(fixture.ready).slice(0, half), ...asking(fixture.ready).slice(half)]
  const parts = 10
  for (let part = 1; part <= parts; part++) {
    // All calls are the warm-up: it ends after this number of calls, and nothing follows.
    const calls = { warmUpCalls: total / parts, warmUpSeconds: Number.POSITIVE_INFINITY, seconds: 0 }
    await Load.run(service.port, conversations, { isQuick, rounds: 1, ...calls })
    const megabytes = Process.residentMegabytes(service.pid)
    seen.push({ requests: part * total / parts, megabytes })
    console.error(`    ${count(part * total / parts).padEnd(40)} ${Math.round(megabytes)} MB`)
  }
  await service.stop()
  await database.drop()
  return {
    title: "Memory under load",
    columns: ["after requests", "MB"],
    rows: seen.map(({ megabytes, requests }) => [count(requests), count(megabytes)]),
    goals: [judgeGrowth(seen.map(({ megabytes }) => megabytes))]
  }
}

/** The size of a heap varies, so only the excess of the second half's maximum over that of the first is growth. */
const judgeGrowth = (megabytes: ReadonlyArray<number>): Judged => {
  const middle = megabytes.length / 2
  const ratio = Math.max(...megabytes.slice(middle)) / Math.max(...megabytes.slice(0, middle))
  return {
    what: "the second half of the requests",
    result: `${ratio.toFixed(2)} times the memory of the first`,
    goal: "at most 1.1",
    isReached: ratio <= 1.1
  }
}

export const start: Scenario = {
  name: "start",
  title: "The service: start and memory",
  about: `
The built service, as \`npm start\` runs it and on all cores, as it has them there: from the start of the process to the line
that says that it listens, and its resident memory a second later. Then its memory on PostgreSQL, while ${connections} connections refresh and ask.
`,
  run: async (effort) => [await starts(effort), await memory(effort)]
}

const embeddedServer = {
  name: "Startlist, embedded database",
  role: "ours",
  program: "Startlist",
  args: ["embedded"],
  storage: "folder"
} as const
const postgresServer = {
  name: "Startlist, PostgreSQL",
  role: "peer",
  program: "Startlist",
  args: ["postgres"],
  storage: "database"
} as const

export const embedded: Scenario = {
  name: "embedded",
  title: "The embedded database",
  about: `
The same servers and workers over the embedded database in a folder, with durable writes, and on PostgreSQL for comparison;
the database runs in the process of the server, on its core. Start and memory are below, with the service.
`,
  run: async (effort) => [
    await compare({
      title: "Refreshing a token",
      contenders: [embeddedServer, postgresServer].map((options) => Contender.server(options, refreshing)),
      goals: [{ than: postgresServer.name, atLeast: 0.5 }]
    }, effort),
    await compare({
      title: "Checking a bearer",
      contenders: [embeddedServer, postgresServer].map((options) => Contender.server(options, asking)),
      goals: []
    }, effort),
    await compare({
      title: "Delivering events",
      contenders: [{
        name: embeddedServer.name,
        role: "ours",
        measure: async ({ isQuick, seconds }) => {
          const { path, remove } = Cleanup.temporaryFolder()
          const perSecond = await deliver(
            { program: "DeliverStartlist" },
            `${path}/data`,
            isQuick ? 1000 : 5000,
            seconds,
            async () => {}
          )
          await remove()
          return { perSecond }
        }
      }],
      goals: []
    }, effort)
  ]
}
