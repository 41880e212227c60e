import { Dispatcher, WebCallbacks } from "@startlist/dispatcher"
import { CallbackLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect } from "effect"
import * as http from "node:http"
import { loopback } from "./Receivers.ts"

/** A receiver on a free port of loopback. */
const receiver = Effect.gen(function*() {
  const requests: Array<CallbackLaws.Request> = []
  let reply: CallbackLaws.Reply = { status: 200 }
  const server = http.createServer((request, response) => {
    const now = reply
    let body = ""
    request.setEncoding("utf8").on("data", (chunk) => body += chunk).on("end", () => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, value?.toString()])
      )
      requests.push({ method: request.method ?? "", target: request.url ?? "", headers, body })
      if (now === "close") request.socket.destroy()
      else if (now !== "hang") {
        // The receiver's slowness is what is tested.
        setTimeout(() => response.writeHead(now.status, now.headers).end(now.body), now.afterMs ?? 0)
      }
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}/hook`,
    reply: (next: CallbackLaws.Reply) =>
      Effect.sync(() => {
        reply = next
      }),
    requests: Effect.succeed(requests)
  }
})

describeSuite(CallbackLaws.suite("the dispatcher", Dispatcher.layerWith({ allow: loopback }), receiver))

describeSuite(CallbackLaws.suite("callbacks by fetch", WebCallbacks.layerWith({ allow: loopback }), receiver))
