/** The socket: bound before anything can be served, so that its address is known, and drained before it closes. */
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { InvalidConfiguration } from "./Configuration.ts"

export interface Listener {
  /** The port that was taken. */
  readonly port: number
  /** Serves from now on; until then every request is answered with 503. */
  readonly serve: (listener: RequestListener) => Effect.Effect<void>
  /** Accepts no more connections, lets requests finish for at most `patience`, then closes what is left. */
  readonly drain: Effect.Effect<void>
}

/** How long requests have to finish when the service stops. */
const patience = Duration.seconds(5)

const starting: RequestListener = (_request, response) => {
  response.writeHead(503, { "retry-after": "1", "cache-control": "no-store" }).end()
}

const whyNot = (error: NodeJS.ErrnoException, host: string, port: number): InvalidConfiguration => {
  switch (error.code) {
    case "EADDRINUSE":
      return new InvalidConfiguration({ message: `PORT: ${port} is already in use on ${host}` })
    case "EACCES":
      return new InvalidConfiguration({ message: `PORT: ${port} may not be used by this user` })
    default:
      return new InvalidConfiguration({ message: `HOST: cannot listen on ${host}: ${error.message}` })
  }
}

const listen = (server: Server, host: string, port: number): Effect.Effect<number, InvalidConfiguration> =>
  Effect.async((resume) => {
    const fail = (error: NodeJS.ErrnoException) => resume(whyNot(error, host, port))
    server.once("error", fail)
    server.listen(port, host, () => {
      server.off("error", fail)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** A kept-alive connection would hold the drain up: from now on each answer ends its connection. */
const endConnections = (server: Server, unanswered: ReadonlySet<ServerResponse>): void => {
  const last = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  for (const response of unanswered) last(response)
  server.prependListener("request", (_request, response) => last(response))
  server.closeIdleConnections()
}

const close = (server: Server, unanswered: ReadonlySet<ServerResponse>): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    server.close(() => Deferred.unsafeDone(closed, Effect.void))
    endConnections(server, unanswered)
    yield* Effect.timeoutOption(Deferred.await(closed), patience)
    server.closeAllConnections()
  })

/** Listens until the scope closes. */
export const bind = (
  host: string,
  port: number
): Effect.Effect<Listener, InvalidConfiguration, Scope.Scope> =>
  Effect.gen(function*() {
    const server = NodeHttp.harden(createServer())
    let current = starting
    const unanswered = new Set<ServerResponse>()
    server.on("request", (request, response) => {
      unanswered.add(response)
      response.once("close", () => unanswered.delete(response))
      current(request, response)
    })
    const taken = yield* listen(server, host, port)
    const drain = yield* Effect.cached(close(server, unanswered))
    yield* Effect.addFinalizer(() => drain)
    return {
      port: taken,
      serve: (listener) =>
        Effect.sync(() => {
          current = listener
        }),
      drain
    }
  })
