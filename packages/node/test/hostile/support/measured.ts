/**
 * The service as its environment says, which also tells how much memory it holds: over a socket in the file system, so
 * that asking takes no part in what is measured. `PLANTED=leak` makes it keep something of every request.
 */
import { subscribe } from "node:diagnostics_channel"
import { createServer, ServerResponse } from "node:http"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { decode } from "@startlist/node/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

createServer((_request, response) => {
  collectGarbage()
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length
  response.end(JSON.stringify({ heapUsed, rss, sockets }))
}).listen(process.env["MEASURES"]).unref()

if (process.env["PLANTED"] === "leak") {
  const kept: Array<string> = []
  subscribe("http.server.request.start", () => kept.push(Buffer.alloc(1000, "kept").toString("latin1")))
}

if (process.env["PLANTED"] === "copies") {
  ServerResponse.prototype.end = new Proxy(ServerResponse.prototype.end, {
    apply: (end, response, [body, ...rest]) =>
      Reflect.apply(end, response, [body instanceof Uint8Array ? Buffer.from(body) : body, ...rest])
  })
}

NodeRuntime.runMain(Effect.flatMap(decode(process.env, false), Service.run), { disablePrettyLogger: true })
