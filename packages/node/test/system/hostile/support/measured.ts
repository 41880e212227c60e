/**
 * The service with measurements of its memory over a Unix socket, which does not affect the measurements. Planted
 * faults: `PLANTED=leak` leaks memory with every request, and `PLANTED=quadratic` reads a header in quadratic time.
 */
import { subscribe } from "node:diagnostics_channel"
import { createServer, IncomingMessage } from "node:http"
import { performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { decode } from "@startlist/node/settings/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"

// With source maps, as tsx sets them, the first error with a stack of ours loads more than a megabyte of them.
process.setSourceMapsEnabled(false)

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

/** Milliseconds of work on the thread that serves: what other threads and other processes do does not count. */
const worked = (): number => {
  const { system, user } = process.cpuUsage()
  return Math.min((system + user) / 1000, performance.eventLoopUtilization().active)
}

createServer(({ url }, response) => {
  if (url === "/sample") return response.end(JSON.stringify({ rss: process.memoryUsage.rss(), worked: worked() }))
  collectGarbage()
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length
  return response.end(JSON.stringify({ heapUsed, rss, sockets }))
}).listen(process.env["MEASURES"]).unref()

if (process.env["PLANTED"] === "leak") {
  const kept: Array<string> = []
  subscribe("http.server.request.start", () => kept.push(Buffer.alloc(1000, "kept").toString("latin1")))
}

if (process.env["PLANTED"] === "quadratic") {
  subscribe("http.server.request.start", (message) => {
    const request = typeof message === "object" && message !== null && "request" in message
      ? message.request
      : undefined
    if (request instanceof IncomingMessage) /^basic +([^ ]*) *$/i.test(request.headers.authorization ?? "")
  })
}

NodeRuntime.runMain(Effect.flatMap(decode(process.env, false), Service.run), { disablePrettyLogger: true })
