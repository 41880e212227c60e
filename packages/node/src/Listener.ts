/** The socket: bound before anything can be served, so that its address is known, and drained before it closes. */
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { isTrusted, parseNetworks } from "@startlist/http/ClientAddress"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { networkOf } from "@startlist/http/Throttle"
import { InvalidConfiguration } from "./Configuration.ts"

export interface Listener {
  /** The port that was taken. */
  readonly port: number
  /** Serves from now on; until then requests wait. */
  readonly serve: (listener: RequestListener) => Effect.Effect<void>
  /** Accepts no more connections, lets requests finish for at most `patience`, then closes what is left. */
  readonly drain: Effect.Effect<void>
  /**
   * Accepts no more connections and waits until each has had its last answer. A connection on which nothing is sent
   * stays as long as clients may use it: to close it sooner could meet a request on its way.
   */
  readonly retire: Effect.Effect<void>
}

/** What the socket lets in. */
export interface Limits {
  /** Connections that are open at once. */
  readonly maxConnections: number
  /** CIDRs of proxies, whose connections are those of many clients. */
  readonly trustedProxies: ReadonlyArray<string>
}

/** How long requests have to finish when the service stops. */
const patience = Duration.seconds(5)

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

/** The responses of each connection that is open. A queued one that its client did not wait for never says `close`. */
type Unanswered = ReadonlyMap<Socket, ReadonlySet<ServerResponse>>

const trackAnswers = (server: Server): Unanswered => {
  const unanswered = new Map<Socket, Set<ServerResponse>>()
  server.on("connection", (socket) => {
    unanswered.set(socket, new Set())
    socket.once("close", () => unanswered.delete(socket))
  })
  server.on("request", ({ socket }, response) => {
    const ofSocket = unanswered.get(socket)
    ofSocket?.add(response)
    response.once("close", () => ofSocket?.delete(response))
  })
  return unanswered
}

/** A kept-alive connection would hold the drain up: from now on each answer ends its connection. */
const endConnections = (server: Server, unanswered: Unanswered): void => {
  const last = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  for (const responses of unanswered.values()) for (const response of responses) last(response)
  server.prependListener("request", (_request, response) => last(response))
}

/**
 * Bounds the connections, of which each can hold a socket and a body for as long as the deadlines let it: all of them
 * by `maxConnections`, and those of one address by a quarter, so that one client alone cannot take every place.
 * A proxy that is trusted speaks for many and is bounded by the whole only. What is too much is closed unread.
 */
const boundConnections = (
  server: Server,
  unanswered: Unanswered,
  { maxConnections, trustedProxies }: Limits
): void => {
  const most = Math.ceil(maxConnections / 4)
  const trusted = parseNetworks(trustedProxies)
  const open = new Map<string, number>()
  server.on("connection", (socket) => {
    // Not `server.maxConnections`: among several processes, what one does not accept goes round without an end.
    if (unanswered.size > maxConnections) {
      socket.destroy()
      return
    }
    const peer = socket.remoteAddress ?? ""
    const address = networkOf(peer)
    if (isTrusted(peer, trusted)) return
    const count = (open.get(address) ?? 0) + 1
    if (count > most) {
      socket.destroy()
      return
    }
    open.set(address, count)
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
  })
}

/** Networks in which a proxy of the operator's own is likely. */
const nearby = parseNetworks([
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "::1/128",
  "fc00::/7",
  "fe80::/10"
])

/** Warns once if a proxy nearby is not trusted: all its clients then share one limit and one address in the audit. */
const warnOfProxy = (server: Server, trustedProxies: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const trusted = parseNetworks(trustedProxies)
    const look: RequestListener = ({ headers, socket }) => {
      const peer = socket.remoteAddress ?? ""
      if (headers["x-forwarded-for"] === undefined || isTrusted(peer, trusted) || !isTrusted(peer, nearby)) return
      server.off("request", look)
      Runtime.runFork(runtime)(Effect.logWarning(
        `${peer} sends X-Forwarded-For, and TRUSTED_PROXIES does not contain it: all its clients share one limit. ` +
          "If it is your proxy, add it to TRUSTED_PROXIES"
      ))
    }
    server.on("request", look)
  })

const close = (server: Server, unanswered: Unanswered): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    server.close(() => Deferred.unsafeDone(closed, Effect.void))
    endConnections(server, unanswered)
    server.closeIdleConnections()
    yield* Effect.timeoutOption(Deferred.await(closed), patience)
    server.closeAllConnections()
  })

const retire = (server: Server, unanswered: Unanswered): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    // The method of HTTP would close connections on which nothing is sent.
    NetServer.prototype.close.call(server, () => Deferred.unsafeDone(closed, Effect.void))
    endConnections(server, unanswered)
    yield* Effect.timeoutOption(
      Deferred.await(closed),
      Duration.sum(Duration.millis(server.keepAliveTimeout), patience)
    )
  })

/** A process that takes no requests. */
export const deaf = (port: number): Listener => ({
  port,
  serve: () => Effect.void,
  drain: Effect.void,
  retire: Effect.void
})

/** Node looks for connections that are over their deadlines only so often; by default every 30 seconds. */
const connectionsCheckingInterval = 1000

/** Listens until the scope closes. */
export const bind = (
  host: string,
  port: number,
  limits: Limits
): Effect.Effect<Listener, InvalidConfiguration, Scope.Scope> =>
  Effect.gen(function*() {
    const server = NodeHttp.harden(createServer({ connectionsCheckingInterval }))
    const unanswered = trackAnswers(server)
    boundConnections(server, unanswered, limits)
    yield* warnOfProxy(server, limits.trustedProxies)
    const waiting: Array<Parameters<RequestListener>> = []
    let current: RequestListener = (...request) => void waiting.push(request)
    server.on("request", (request, response) => current(request, response))
    const taken = yield* listen(server, host, port)
    const drain = yield* Effect.cached(close(server, unanswered))
    yield* Effect.addFinalizer(() => drain)
    return {
      port: taken,
      serve: (listener) =>
        Effect.sync(() => {
          current = listener
          for (const request of waiting.splice(0)) listener(...request)
        }),
      drain,
      retire: retire(server, unanswered)
    }
  })
