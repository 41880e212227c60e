/** Several nodes on one PostgreSQL, with faults. */
import { type Environment, type Program, type Service, startService } from "@startlist/test-support/ServiceProcess"
import * as TestServer from "@startlist/test-support/TestServer"
import { Effect, Runtime } from "effect"
import * as Pg from "pg"
import { InProgress } from "./Recorder.ts"

/** A fault of an installation. */
export const faults = ["kill", "pause", "sockets", "sessions", "database"] as const
export type Fault = typeof faults[number]

/** A place for a node, which has another address after each start. */
export interface Node {
  readonly name: string
  /** The service, unless it is starting. */
  readonly service: () => Service | undefined
}

export interface Installation {
  readonly nodes: ReadonlyArray<Node>
  readonly inProgress: InProgress
  /** Causes a fault, and waits for its end. `progress` waits for some operations. Returns whether there was one. */
  readonly cause: (fault: Fault, node: Node, progress: () => Promise<void>) => Promise<boolean>
}

const environment = (url: string): Environment & { readonly DATA_DIR: string } => ({
  DATABASE_URL: url,
  OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
  MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  DATA_DIR: "/nonexistent"
})

/** Maximum number of consecutive failed starts: the database may be restarting. */
const starts = 20

/** A node that is restarted whenever it is killed, until the scope closes. */
const makeNode = (name: string, url: string, program: Program | undefined) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let current: Service | undefined
      let isOver = false
      let starting: Promise<void> = Promise.resolve()
      const start = async () => {
        for (let tried = 1; current === undefined && !isOver; tried++) {
          try {
            current = await startService(environment(url), program)
          } catch (error) {
            if (tried === starts) throw error
          }
        }
      }
      await start()
      const kill = async () => {
        const killed = current
        current = undefined
        await killed?.stop("SIGKILL")
      }
      const restart = async () => {
        await kill()
        starting = start()
        // Closing the node reports a failure.
        starting.catch(() => {})
      }
      const close = async () => {
        isOver = true
        await starting.finally(kill)
      }
      return { name, service: () => current, restart, close }
    }),
    ({ close }) => Effect.promise(close)
  )

/** Connections for the faults, which break with the database. */
const makePool = (connectionString: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({ connectionString, max: 1 })
      pool.on("error", () => {})
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )

/** The installation, until the scope closes. `programs` has the program of each node; none means the normal service. */
export const makeInstallation = (programs: ReadonlyArray<Program | undefined>) =>
  Effect.gen(function*() {
    const server = yield* TestServer.make()
    const pool = yield* makePool(server.url)
    const nodes = yield* Effect.forEach(
      programs,
      (program, index) => makeNode(`node ${index + 1}`, server.url, program),
      { concurrency: "unbounded" }
    )
    const inProgress = new InProgress()
    const runPromise = Runtime.runPromise(yield* Effect.runtime())

    const cause: Installation["cause"] = async (fault, { name }, progress) => {
      const node = nodes.find((node) => node.name === name)
      const service = node?.service()
      switch (fault) {
        case "kill":
          if (service === undefined) return false
          await node?.restart()
          return true
        case "pause":
          if (service === undefined) return false
          service.child.kill("SIGSTOP")
          await progress().finally(() => service.child.kill("SIGCONT"))
          return true
        case "sockets":
          return inProgress.destroy() > 0
        case "sessions": {
          const { rowCount } = await pool.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'startlist'"
          )
          return rowCount !== null && rowCount > 0
        }
        case "database":
          await runPromise(server.restart)
          return true
      }
    }
    const installation: Installation = { nodes, inProgress, cause }
    return installation
  })
