/** Runs the server: `node --import tsx src/main.ts`. */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Dispatcher } from "@startlist/dispatcher"
import { NodeHttp } from "@startlist/http"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import * as Server from "./Server.ts"
import * as Users from "./Users.ts"

const port = Number(process.env["PORT"] ?? 3000)
const origin = `http://127.0.0.1:${port}`

const people = Layer.effectDiscard(Effect.map(Users.Users, ({ add }) => {
  add({ role: "platform", email: "paul@club.example", firstName: "Paul", lastName: "" }, "paul")
  add({ role: "athlete", email: "alice@club.example", firstName: "Alice", lastName: "" }, "alice")
}))

const told = Layer.effectDiscard(
  Effect.log(`${origin} listens; register an application at ${origin}/connect/developer/applications`)
)

const http = NodeHttpServer.layer(() => NodeHttp.harden(createServer()), { port, host: "127.0.0.1" })

told.pipe(
  Layer.provide(Layer.merge(Server.layer(origin), people)),
  Layer.provide([Users.layer, Dispatcher.layer, http]),
  Layer.launch,
  NodeRuntime.runMain
)
