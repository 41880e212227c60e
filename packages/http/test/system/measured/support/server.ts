/** A server in a process of its own, which answers the message "cpu" with the CPU time that it has used. */
import { HttpConfig, NodeHttp, Protocol } from "@startlist/http"
import { Effect } from "effect"
import { createServer } from "node:http"

/** What a server must do at least: parse what has arrived, and close. */
const destroying = createServer((incoming) => incoming.once("data", () => incoming.socket.destroy()))

const binding = async () =>
  NodeHttp.harden(createServer(
    await Effect.runPromise(
      Effect.provide(NodeHttp.listener(Protocol.notFound()), HttpConfig.layerLocal)
    )
  ))

const server = process.argv[2] === "binding" ? await binding() : destroying

process.on("message", () => {
  const { system, user } = process.cpuUsage()
  process.send?.({ cpu: (system + user) / 1000 })
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" ? address?.port : undefined })
})
