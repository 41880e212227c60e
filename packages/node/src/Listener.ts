/** The HTTP socket: bound before requests can be served, so that its port is known, and drained before it closes. */
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { isTrusted, networkOf, parseNetworks } from "@startlist/http/ClientAddress"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { InvalidConfiguration } from "./settings/Configuration.ts"

/** A bound socket. */
export interface Listener {
  /** The port on which it listens. */
  readonly port: number
  /** Starts to serve. Earlier requests have waited. */
  readonly serve: (listener: RequestListener) => Effect.Effect<void>
  /**
   * Stops accepting connections, waits at most `patience` for requests to finish, then closes the other connections.
   */
  readonly drain: Effect.Effect<void>
  /**
   * Stops accepting connections and waits until each has had its last response. Idle connections stay open until their
   * keep-alive timeout: closing them earlier could drop a request that the client has just sent.
   */
  readonly retire: Effect.Effect<void>
}

/** Limits on connections. */
export interface Limits {
  /** Maximum number of open connections. */
  readonly maxConnections: number
  /** CIDRs of proxies, which connect on behalf of many clients. */
  readonly trustedProxies: ReadonlyArray<string>
}

/** Timeout for requests in progress when the service stops. */
const patience = Duration.seconds(5)

const listen = (server: Server, host: string, port: number): Effect.Effect<number, InvalidConfiguration> =>
  Effect.async((resume) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const { about, message } = NodeHttp.whyNotListening(error, host, port)
      resume(new InvalidConfiguration({ message: `${about.toUpperCase()}: ${message}` }))
    }
    server.once("error", fail)
    server.listen(port, host, () => {
      server.off("error", fail)
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** Unfinished responses by open connection. A queued response whose client has disconnected never emits `close`. */
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

/** Closes each connection after its next response, since kept-alive connections would delay the drain. */
const endConnections = (server: Server, unanswered: Unanswered): void => {
  const last = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  for (const responses of unanswered.values()) for (const response of responses) last(response)
  server.prependListener("request", (_request, response) => last(response))
}

/**
 * Limits the connections: all by `maxConnections`, and those of one address by a quarter of it, so that one client
 * cannot use them all. Trusted proxies have only the first limit. Connections over a limit are closed unread.
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
    // Not `server.maxConnections`: with several processes, Node would pass a refused connection around endlessly.
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

/** Networks in which the operator's own proxy is likely. */
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

/**
 * Warns once about a nearby proxy that is not trusted: all its clients share one limit and one address in the audit.
 */
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

/** Logs connections that the system does not give to the process. Without a listener, such an error would end it. */
const logErrors = (server: Server): Effect.Effect<void> =>
  Effect.map(Effect.runtime(), (runtime) => {
    server.on("error", (error) => {
      Runtime.runFork(runtime)(Effect.logWarning("a connection cannot be accepted", error))
    })
  })

/** Waits at most this long, also in a finalizer. There, a wait is uninterruptible, and a timeout would not end it. */
const waitFor = (closed: Deferred.Deferred<void>, limit: Duration.Duration) =>
  Effect.timeoutOption(Effect.interruptible(Deferred.await(closed)), limit)

const close = (server: Server, unanswered: Unanswered): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    server.close(() => Deferred.unsafeDone(closed, Effect.void))
    endConnections(server, unanswered)
    server.closeIdleConnections()
    yield* waitFor(closed, patience)
    server.closeAllConnections()
  })

const retire = (server: Server, unanswered: Unanswered): Effect.Effect<void> =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    // `close` of an HTTP server would close idle connections.
    NetServer.prototype.close.call(server, () => Deferred.unsafeDone(closed, Effect.void))
    endConnections(server, unanswered)
    yield* waitFor(closed, Duration.sum(Duration.millis(server.keepAliveTimeout), patience))
  })

/** For a process that serves no requests. */
export const deaf = (port: number): Listener => ({
  port,
  serve: () => Effect.void,
  drain: Effect.void,
  retire: Effect.void
})

/** Interval in milliseconds at which Node closes connections that exceed their timeouts (default: 30 seconds). */
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
    yield* logErrors(server)
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
