/** Databases on a running Citus cluster: on its coordinator and all of its workers. */
import { randomBytes } from "node:crypto"
import * as Pg from "pg"

type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

/** Runs statements on one connection. Returns the rows of the last one. */
const on = async (address: URL, texts: ReadonlyArray<string>): Promise<Rows> => {
  const client = new Pg.Client({ connectionString: address.href })
  await client.connect()
  try {
    let rows: Rows = []
    for (const text of texts) rows = (await client.query(text)).rows
    return rows
  } finally {
    await client.end()
  }
}

const changed = (address: URL, change: Partial<URL>): URL => Object.assign(new URL(address), change)

/** A database without tables. */
export interface CitusDatabase {
  /** Its URL on the coordinator. */
  readonly url: string
  /** Runs statements on the coordinator, or on a worker (0, 1, …), outside of this database. */
  readonly beside: (server: "coordinator" | number, texts: ReadonlyArray<string>) => Promise<Rows>
  readonly name: string
  readonly drop: () => Promise<void>
}

/** Creates a database. `coordinator` is the URL of any database of the cluster. */
export const create = async (coordinatorUrl: string): Promise<CitusDatabase> => {
  const coordinator = new URL(coordinatorUrl)
  const name = `test_${randomBytes(8).toString("hex")}`
  const found = await on(coordinator, [
    "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeport"
  ])
  const workers = found.map(({ nodename, nodeport }) =>
    changed(coordinator, { hostname: String(nodename), port: String(nodeport) })
  )
  const servers = [coordinator, ...workers]
  const onEach = async (text: string) => {
    for (const server of servers) await on(server, ["SET citus.enable_create_database_propagation = off", text])
  }
  await onEach(`CREATE DATABASE ${name} TEMPLATE template0`)
  const address = changed(coordinator, { pathname: `/${name}` })
  for (const server of servers) await on(changed(server, { pathname: `/${name}` }), ["CREATE EXTENSION citus"])
  await on(address, [
    `SELECT citus_set_coordinator_host('${coordinator.hostname}', ${coordinator.port})`,
    ...workers.map(({ hostname, port }) => `SELECT citus_add_node('${hostname}', ${port})`)
  ])
  return {
    url: address.href,
    name,
    beside: (server, texts) => on(server === "coordinator" ? coordinator : workers[server] ?? coordinator, texts),
    drop: () => onEach(`DROP DATABASE ${name} WITH (FORCE)`)
  }
}
