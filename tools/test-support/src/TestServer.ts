/** A PostgreSQL server for tests. It is removed with the scope. */
import * as PostgresServer from "./PostgresServer.ts"
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface TestServer {
  readonly url: string
  /** Stops the server, ends its connections, and starts it again with the same port and data. */
  readonly restart: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "startlist-postgres-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const running = (folder: string, settings: PostgresServer.Options["settings"]) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = await PostgresServer.make({
        folder,
        settings: { fsync: "off", max_connections: "400", ...settings }
      })
      // A test process that is ended does not close its scopes.
      process.once("exit", server.kill)
      return server
    }),
    (server) =>
      Effect.promise(() => {
        process.off("exit", server.kill)
        return server.stop()
      })
  )

/** A new server. */
export const make = (settings: PostgresServer.Options["settings"] = {}) =>
  Effect.gen(function*() {
    const server = yield* running(yield* folder, settings)
    const [start, stop] = [Effect.promise(server.start), Effect.promise(server.stop)]
    const made: TestServer = { url: server.urlOf("postgres"), start, stop, restart: Effect.zipRight(stop, start) }
    return made
  })
