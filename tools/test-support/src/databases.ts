/**
 * Global setup of the tests: one PostgreSQL server and one migrated template database for a run. The first request of a test
 * starts them, over HTTP on loopback, because tests run in other processes. In a clean clone, it also makes the images of the
 * embedded database: each worker would make its own.
 */
import { Effect, Exit, Redacted, Scope } from "effect"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync, readdirSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Pg from "pg"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** URL whose response is `Databases`. */
    readonly databases: string
  }
}

export interface Databases {
  /** URL of a database for statements such as CREATE DATABASE. */
  readonly server: string
  /** Name of a database that has all tables. */
  readonly template: string
}

const ask = async (connectionString: string, statement: string): Promise<void> => {
  const client = new Pg.Client({ connectionString })
  // The server may stop before the connection has ended. Without a listener, its error would end the process, and vitest
  // would not report it.
  client.on("error", () => {})
  await client.connect()
  await client.query(statement)
  await client.end()
}

const migrate = async (url: string): Promise<void> => {
  const [{ layer }, ServiceTables, { seal }] = await Promise.all([
    import("@startlist/postgres/Postgres"),
    import("@startlist/node/data/ServiceTables"),
    import("./StoreFixtures.ts")
  ])
  const { Layer } = await import("effect")
  const stores = layer({ url: Redacted.make(url), migrations: [ServiceTables.migrations()] })
  await Effect.runPromise(Effect.scoped(Layer.build(Layer.provide(stores, seal))))
}

const make = async (scope: Scope.CloseableScope): Promise<Databases> => {
  const TestServer = await import("./TestServer.ts")
  const { url: server } = await Effect.runPromise(Scope.extend(TestServer.make(), scope))
  const template = `template_${randomBytes(8).toString("hex")}`
  await ask(server, `CREATE DATABASE ${template}`)
  await Effect.runPromise(
    Scope.addFinalizer(scope, Effect.promise(() => ask(server, `DROP DATABASE ${template} WITH (FORCE)`)))
  )
  const address = new URL(server)
  address.pathname = `/${template}`
  await migrate(address.href)
  return { server, template }
}

/** The programs that make an image, by the package whose `dist` has it. */
const images = { postgres: "scripts/image.mjs", node: "src/data/image.ts" }

const makeImages = () =>
  Promise.all(
    Object.entries(images).map(async ([name, program]) => {
      const folder = new URL(`../../../packages/${name}/`, import.meta.url)
      const dist = new URL("dist/", folder)
      if (existsSync(dist) && readdirSync(dist).some((file) => file.endsWith(".image"))) return
      const flags = ["--import", "tsx", "--conditions=@startlist/source"]
      await promisify(execFile)(process.execPath, [...flags, fileURLToPath(new URL(program, folder))])
    })
  )

export default async (project: TestProject) => {
  await makeImages()
  const scope = Effect.runSync(Scope.make())
  let databases: Promise<Databases> | undefined
  const server = createServer((_, response) => {
    databases ??= make(scope)
    databases.then(
      (made) => response.end(JSON.stringify(made)),
      (error) => response.writeHead(500).end(String(error))
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  project.provide("databases", `http://127.0.0.1:${port}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
