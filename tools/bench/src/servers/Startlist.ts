/**
 * Startlist with its `node:http` binding and its garbage collection, like in an embedding server. Arguments: `memory`, or `postgres` and the
 * database, or `embedded` and a folder; then the number of athletes. `MASTER_KEY` is that of another process on the
 * same database. `V8_FLAGS` are flags of V8. `Fixture` reads more.
 */
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { setFlagsFromString } from "node:v8"
import type * as Services from "@startlist/core/Services"
import type { UserStore } from "@startlist/core/User"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeGarbage from "@startlist/http/NodeGarbage"
import * as EmbeddedDatabase from "@startlist/postgres/Embedded"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as Users from "@startlist/postgres/Users"
import { Effect, Layer, Redacted } from "effect"
import * as Child from "../Child.ts"
import * as Fixture from "../Fixture.ts"

// All that takes time is compiled later.
Effect.runSync(NodeGarbage.tune)
setFlagsFromString(process.env["V8_FLAGS"] ?? "")

const [, , kind, where = "", athleteCount] = process.argv

const program = Effect.gen(function*() {
  const fixture = yield* Fixture.prepare(athleteCount === undefined ? undefined : Number(athleteCount))
  const server = createServer(yield* NodeHttp.listener(yield* Fixture.handler))
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    Child.ready({ ...fixture, port: typeof address === "object" && address !== null ? address.port : 0 })
  })
  return yield* Effect.never
})

const seal = Seal.layerWith({ key: Redacted.make(process.env["MASTER_KEY"] ?? randomBytes(32).toString("base64")) })

const serve = <E>(stores: Layer.Layer<Services.Stores | UserStore | Users.Users, E>): void => {
  Effect.runFork(Effect.tapErrorCause(Effect.provide(program, Fixture.layer(stores)), Effect.logError))
}

if (kind === "memory") serve(Fixture.inMemory)
if (kind === "postgres") {
  const stores = Postgres.layer({ url: Redacted.make(where) }).pipe(Layer.provide(seal))
  serve(Layer.provideMerge(Users.layer, stores))
}
if (kind === "embedded") {
  const stores = EmbeddedDatabase.layerWith({ folder: where }).pipe(Layer.provide(seal))
  serve(Layer.provideMerge(Users.layer, stores))
}
