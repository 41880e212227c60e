/** A PostgreSQL server for the run, with durable commits. */
import * as PostgresServer from "@startlist/test-support/PostgresServer"
import * as Pg from "pg"
import * as Cleanup from "./Cleanup.ts"
import { spawnAt } from "./Process.ts"

/** Settings that differ from the defaults. `fsync`, `full_page_writes` and `synchronous_commit` are on. */
export const settings: Readonly<Record<string, string>> = {
  shared_buffers: "2GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "1h",
  max_connections: "200"
}

type Settings = typeof settings

const startServer = async (changed: Settings): Promise<PostgresServer.PostgresServer> => {
  const { path } = Cleanup.temporaryFolder()
  const server = await PostgresServer.make({
    folder: path,
    settings: { ...settings, ...changed },
    // Ctrl-C on the terminal is for the run, which first closes its connections.
    spawn: (command, args, options) => spawnAt("anywhere", command, args, { ...options, detached: true }).child
  })
  Cleanup.onEnd(server.stop)
  return server
}

const servers = new Map<string, Promise<PostgresServer.PostgresServer>>()
let made = 0

/** The server of the run with these settings, started on first use. */
const serverWith = (changed: Settings): Promise<PostgresServer.PostgresServer> => {
  const key = JSON.stringify(changed)
  const server = servers.get(key) ?? startServer(changed)
  servers.set(key, server)
  return server
}

/** An empty database. */
export interface Fresh {
  readonly url: string
  /** The first process of a server on this machine. */
  readonly serverPid?: number | undefined
  /** Runs statements, for preparations. */
  readonly query: <Row extends Pg.QueryResultRow>(text: string, values?: ReadonlyArray<unknown>) => Promise<Array<Row>>
  /** Analyzes the tables and makes a checkpoint, so that neither happens during a measurement. */
  readonly settle: () => Promise<void>
  readonly drop: () => Promise<void>
}

const withClient = async <A>(url: string, use: (client: Pg.Client) => Promise<A>): Promise<A> => {
  const client = new Pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Creates an empty database on a server with these settings in addition to `settings`. */
export const fresh = async (changed: Settings = {}): Promise<Fresh> => {
  const { pid, urlOf } = await serverWith(changed)
  const name = `bench_${++made}`
  await withClient(urlOf("postgres"), (client) => client.query(`CREATE DATABASE ${name}`))
  const query: Fresh["query"] = (text, values) =>
    withClient(urlOf(name), async (client) => (await client.query(text, values && [...values])).rows)
  const settle = async () => {
    await query("VACUUM ANALYZE")
    await query("CHECKPOINT")
  }
  await settle()
  return {
    url: urlOf(name),
    serverPid: pid(),
    query,
    settle,
    drop: async () => {
      await withClient(urlOf("postgres"), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
    }
  }
}

/** Version of the server. */
export const version = async (): Promise<string> => {
  const { urlOf } = await serverWith({})
  return await withClient(urlOf("postgres"), async (client) => {
    const { rows } = await client.query<{ readonly server_version: string }>("SHOW server_version")
    return rows[0]?.server_version ?? ""
  })
}
