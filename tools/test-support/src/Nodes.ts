/** Services that share one PostgreSQL server. */
import { Effect, type Scope } from "effect"
import * as TestDatabase from "./TestDatabase.ts"
import * as TestServer from "./TestServer.ts"
import { type Environment, type Service, startService } from "./ServiceProcess.ts"

/** Settings for all nodes of an installation. */
export const installation = (url: string): Environment & { readonly DATA_DIR: string } => ({
  DATABASE_URL: url,
  OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
  MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  DATA_DIR: "/nonexistent"
})

/** A separate server, which the test may stop, and an empty database on it. */
export const makeDatabase = Effect.gen(function*() {
  const server = yield* TestServer.make()
  const { admin, url } = yield* TestDatabase.create(server.url)
  return { server, admin, url }
})

/** A node. It is stopped with the scope. */
export const makeNode = (
  environment: Environment & { readonly DATA_DIR: string }
): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => startService(environment)),
    (service) => Effect.promise(() => service.stop("SIGKILL"))
  )
