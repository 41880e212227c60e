/** A `node:http` server on a free port of loopback, for as long as a scope. */
import { NodeHttp } from "@startlist/http"
import { Effect } from "effect"
import { createServer, type RequestListener } from "node:http"

/** Listens, and returns the port. */
export const listen = (listener: RequestListener) =>
  Effect.gen(function*() {
    const server = NodeHttp.harden(createServer(listener))
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    return address === null || typeof address === "string" ? yield* Effect.dieMessage("no port") : address.port
  })
