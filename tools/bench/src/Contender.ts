/** A program under comparison. It measures one round in fresh processes, with a fresh database if it needs one. */
import { join } from "node:path"
import * as Cleanup from "./Cleanup.ts"
import * as Cpu from "./Cpu.ts"
import * as Database from "./Database.ts"
import * as Load from "./Load.ts"
import type { Effort, Measurement } from "./Measurement.ts"
import * as Process from "./Process.ts"
import * as Protocol from "./Protocol.ts"

export interface Contender {
  readonly name: string
  /** A limit does not do the work: it shows the best possible result. */
  readonly role: "ours" | "peer" | "limit"
  readonly measure: (effort: Effort) => Promise<Measurement>
}

export interface Server extends Pick<Contender, "name" | "role"> {
  /** Name of a program in `servers/`. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Fresh storage, passed as its last argument. */
  readonly storage?: "database" | "folder"
  /** Variables in addition to the environment of the run. */
  readonly env?: Readonly<Record<string, string>>
  /** The Node binary that runs it; default: the one that runs the benchmarks. */
  readonly node?: string
  /** The folder of the build that it belongs to; default: this one. */
  readonly build?: string | undefined
}

interface Storage {
  readonly where: ReadonlyArray<string>
  readonly databasePid?: number | undefined
  readonly remove: () => Promise<void>
}

const provide = async (storage: Server["storage"]): Promise<Storage> => {
  if (storage === "database") {
    const { drop, serverPid, url } = await Database.fresh()
    return { where: [url], databasePid: serverPid, remove: drop }
  }
  if (storage === "folder") {
    const { path, remove } = Cleanup.temporaryFolder()
    return { where: [join(path, "data")], remove }
  }
  return { where: [], remove: async () => {} }
}

/** Starts a server under test and stops it after `use`. Checks first that it does the work, unless it is a limit. */
export const serving = async <A>(
  { args, build, env = {}, node, program, role, storage }: Omit<Server, "name">,
  use: (running: Process.Running<Protocol.Ready>, databasePid: number | undefined) => Promise<A>
): Promise<A> => {
  const { databasePid, remove, where } = await provide(storage)
  try {
    const running = await Process.start<Protocol.Ready>(`servers/${program}`, [...args, ...where], "measured", {
      build,
      env,
      node
    })
    try {
      if (role !== "limit") await Protocol.probe(running.ready)
      return await use(running, databasePid)
    } finally {
      await running.stop()
    }
  } finally {
    await remove()
  }
}

/** A server under the load of all connections. */
export const server = (
  options: Server,
  conversations: (ready: Protocol.Ready) => ReadonlyArray<Load.Conversation>
): Contender => ({
  name: options.name,
  role: options.role,
  measure: (effort) =>
    serving(options, ({ pid, ready }, databasePid) =>
      Load.run(ready.port, conversations(ready), effort, {
        process: Cpu.ofProcess(pid),
        database: databasePid === undefined ? undefined : Cpu.ofFamily(databasePid)
      }))
})

export interface Work extends Pick<Contender, "name" | "role"> {
  /** Name of a program in `workers/`. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** The folder of the build that it belongs to; default: this one. */
  readonly build?: string | undefined
  /** Creates the database, whose URL is the program's first argument. */
  readonly prepare: (database: Database.Fresh) => Promise<void>
}

export const workOn = async (
  database: Database.Fresh,
  { args, build, program }: Omit<Work, "name" | "role" | "prepare">,
  effort: Effort
): Promise<Measurement> => {
  const running = await Process.start(`workers/${program}`, [database.url, ...args], "measured", { build })
  try {
    return await running.ask<Measurement>(effort)
  } finally {
    await running.stop()
  }
}

/** A program that measures its own calls of a database, which is fresh in each round. */
export const work = (options: Work): Contender => ({
  name: options.name,
  role: options.role,
  measure: async (effort) => {
    const database = await Database.fresh()
    try {
      await options.prepare(database)
      return await workOn(database, options, effort)
    } finally {
      await database.drop()
    }
  }
})

/** The same with databases that take long to create: each is created once, and dropped after `use`. */
export const working = async <A>(
  options: ReadonlyArray<Work>,
  use: (contenders: ReadonlyArray<Contender>) => Promise<A>
): Promise<A> => {
  const databases: Array<Database.Fresh> = []
  try {
    const contenders: Array<Contender> = []
    for (const one of options) {
      console.error(`    making the database for ${one.name}`)
      const database = await Database.fresh()
      databases.push(database)
      await one.prepare(database)
      contenders.push({ name: one.name, role: one.role, measure: (effort) => workOn(database, one, effort) })
    }
    return await use(contenders)
  } finally {
    for (const database of databases) await database.drop()
  }
}
