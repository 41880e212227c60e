/**
 * The binding to `node:http`: reads requests, one after the other on a connection, runs the handler, writes its responses.
 *
 * Not the server of `@effect/platform`: its request, span and response take 70 to 200 µs, several times as long as a refresh.
 */
import { Buffer } from "node:buffer"
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import type { BearerAccess } from "@startlist/core/Grant"
import type { OAuth } from "@startlist/core/OAuth"
import * as ApiResponse from "./api/ApiResponse.ts"
import { clientAddress, parseNetworks } from "./ClientAddress.ts"
import type { FailureLimit } from "./FailureLimit.ts"
import * as Guard from "./Guard.ts"
import { type Complete, makeRunner, start as startLayers } from "./internal/fiberRuntime.ts"
import * as Incoming from "./internal/incoming.ts"
import { type Handler, hasContent, maxHeaders, type Request, type Response } from "./Http.ts"
import { Busy, type Refusal } from "./Refusal.ts"
import { HttpConfig } from "./HttpConfig.ts"

/** Settings of this binding. */
export interface Options {
  /** Timeout of each phase: receiving the body, handling the request, and the client reading the response. Default: 30 seconds. */
  readonly timeout?: Duration.DurationInput
  /** Maximum number of requests that are processed at the same time. The others are refused with 503. Default: no limit. */
  readonly capacity?: number
  /**
   * Maximum time for handling a request; `undefined` is no limit, for example for a copy of files. Then the client gets
   * 503 immediately, and the request is interrupted: what it must complete may take longer. Default: `timeout`.
   */
  readonly limitOf?: (request: Request) => Duration.DurationInput | undefined
  /** Called for each request that has reached its limit, in milliseconds, after the client has got its response. */
  readonly onLate?: (request: Request, response: Response, limit: number) => void
}

/**
 * A listener for `http.createServer`, or for some paths of an existing server.
 *
 * Every request runs in its own fiber, which is interrupted when the client disconnects. The endpoint refuses a body
 * over the limit; a body that does not arrive in time gets 408. A client that does not read its response in time is
 * disconnected. At most `capacity` requests are processed at a time, one per connection, so the wait is always short.
 *
 * Configure the server with `harden`: it must keep at least 200 headers of a request (`maxHeadersCount`).
 */
export const listener = (handler: Handler, options: Options = {}): Effect.Effect<RequestListener, never, HttpConfig> =>
  Effect.gen(function*() {
    const { trustedProxies } = yield* HttpConfig
    const run = makeRunner(yield* Effect.runtime<never>())
    const log = (message: string, cause?: Cause.Cause<unknown>) => run(Effect.logError(message, cause))
    const trusted = parseNetworks(trustedProxies)
    const timeout = Duration.toMillis(options.timeout ?? "30 seconds")
    const { capacity = Infinity, limitOf = () => timeout, onLate = () => {} } = options
    const takeTurn = makeTurns()
    const deadlineOf = Incoming.makeDeadlines()
    let running = 0

    const answer = (outgoing: ServerResponse, exit: Exit.Exit<Response>, wait?: number): void => {
      if (Exit.isSuccess(exit)) {
        write(outgoing, exit.value, wait)
        if (!outgoing.writableFinished && !outgoing.destroyed) expectReader(outgoing, timeout)
        return
      }
      if (Cause.isInterruptedOnly(exit.cause)) return write(outgoing, tooSlow)
      log("a request failed because of a bug", exit.cause)
      write(outgoing, broken)
    }

    const handle = (incoming: IncomingMessage, outgoing: ServerResponse, body: Uint8Array, refused?: Refusal): void => {
      const forwardedFor = incoming.headers["x-forwarded-for"]
      const address = clientAddress(incoming.socket.remoteAddress, String(forwardedFor ?? "") || undefined, trusted)
      const refusal = refused ?? (running < capacity ? undefined : busy)
      const request = toRequest(incoming, body, address, refusal)
      let release = (): void => {}
      const interrupt = run(Effect.suspend(() => handler(request)), (exit) => {
        release()
        // Even a moment with a client that sends single bytes costs more than it is worth.
        answer(outgoing, exit, refused?._tag === "@startlist/http/Fragmented" ? 0 : undefined)
      })
      if (interrupt !== undefined) release = watch(interrupt, outgoing, request)
    }

    /** Interrupts a running request when the client disconnects or its time is over, until it has ended. */
    const watch = (interrupt: () => void, outgoing: ServerResponse, request: Request) => {
      running++
      const limit = limitOf(request)
      const millis = limit === undefined ? 0 : Duration.toMillis(limit)
      const answerLate = (): void => {
        if (outgoing.headersSent || outgoing.destroyed) return
        write(outgoing, tooSlow)
        interrupt()
        onLate(request, tooSlow, millis)
      }
      const deadline = limit === undefined ? undefined : deadlineOf(outgoing.req.socket)
      deadline?.begin(millis, answerLate)
      outgoing.once("close", interrupt)
      return () => {
        running--
        deadline?.end(answerLate)
        outgoing.off("close", interrupt)
      }
    }

    const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      if (incoming.readableEnded && Incoming.hasBody(incoming)) {
        log(Incoming.readBefore)
        return write(outgoing, broken)
      }
      Incoming.readBody(incoming, timeout, {
        onBody: (body, refusal = Incoming.refusalOf(incoming.rawHeaders)) => handle(incoming, outgoing, body, refusal),
        onTimeout: () => write(outgoing, tooLate)
      })
    }

    return (incoming, outgoing) => takeTurn(incoming, outgoing, () => serve(incoming, outgoing))
  })

/** A guarded route. The server handles its errors. */
export type GuardedListener<I extends IncomingMessage, O extends ServerResponse> = (
  incoming: I,
  outgoing: O,
  access: BearerAccess
) => unknown

/**
 * A guard for your own routes in `node:http` or Express. Your route gets requests with a valid token and the access of
 * that token. All others get the responses of `/api/v1/athlete`.
 */
export type NodeGuard = <I extends IncomingMessage, O extends ServerResponse>(
  requirement: Guard.Requirement,
  handle: GuardedListener<I, O>
) => (incoming: I, outgoing: O) => Promise<void>

/** Makes the guard from a check of tokens. */
export const guardWith = (check: Guard.Check): Effect.Effect<NodeGuard> =>
  Effect.map(Effect.runtime<never>(), (runtime) =>
  <I extends IncomingMessage, O extends ServerResponse>(
    requirement: Guard.Requirement,
    handle: GuardedListener<I, O>
  ) =>
  async (incoming: I, outgoing: O) => {
    const refusal = Incoming.refusalOf(incoming.rawHeaders)
    if (refusal !== undefined) return write(outgoing, ApiResponse.refused(refusal))
    const { access, refused } = await Runtime.runPromise(runtime)(check(incoming, requirement))
    if (access === undefined) write(outgoing, refused)
    else await handle(incoming, outgoing, access)
  })

/** The guard with the check of `Guard.make`. */
export const guard: Effect.Effect<NodeGuard, never, OAuth | FailureLimit> = Effect.flatMap(Guard.make, guardWith)

/**
 * The same from layers, for a server without Effect: builds them, and releases them with `dispose`. A worker among them
 * runs until then. The compiler names services that no layer provides.
 */
export const start = async <Provided, E, Needed>(
  handler: Effect.Effect<Handler, never, Needed>,
  layer: Complete<Provided, E, Needed | HttpConfig>,
  options: Options = {}
): Promise<{ readonly listener: RequestListener; readonly dispose: () => Promise<void> }> => {
  const { dispose, value } = await startLayers(Effect.flatMap(handler, (made) => listener(made, options)), layer)
  return { listener: value, dispose }
}

/**
 * Sets timeouts for headers and whole requests, and the maximum number of headers. Invalid HTTP gets 400, 408, 413 or
 * 431 after the responses to earlier requests.
 */
export const harden = (server: Server): Server => {
  server.headersTimeout = 10_000
  server.requestTimeout = 60_000
  server.keepAliveTimeout = 65_000
  // More than are accepted: a request of which Node drops headers is then noticed and refused.
  server.maxHeadersCount = 2 * maxHeaders
  answerInvalid(server)
  return server
}

/** Why a server cannot listen: the wrong setting, and a sentence for the person who starts the program. */
export const whyNotListening = (
  error: NodeJS.ErrnoException,
  host: string,
  port: number
): { readonly about: "host" | "port"; readonly message: string } => {
  switch (error.code) {
    case "EADDRINUSE":
      return { about: "port", message: `${port} is already in use on ${host}. Choose another port.` }
    case "EACCES":
      return { about: "port", message: `this user may not listen on ${port}. Choose a port above 1023.` }
    default:
      return { about: "host", message: `cannot listen on ${host}: ${error.message}` }
  }
}

/** Closes the connection if the client does not read the response in time: it would stay in memory. */
const expectReader = (outgoing: ServerResponse, timeout: number): void => {
  const timer = setTimeout(() => outgoing.destroy(), timeout)
  outgoing.once("close", () => clearTimeout(timer))
}

/** Sends the last response of a connection. */
const closing = (response: Response): Response => ({
  ...response,
  headers: { ...response.headers, connection: "close" }
})

const tooLate = closing(Incoming.tooLate)
const tooSlow = closing(Incoming.tooSlow)
const broken = closing(Incoming.broken)
const busy = new Busy()

const toRequest = (
  incoming: IncomingMessage,
  body: Uint8Array,
  address: string,
  refusal: Refusal | undefined
): Request => {
  const { path, query } = Incoming.parseTarget(targetOf(incoming))
  const request = { method: incoming.method ?? "GET", path, query, headers: incoming.headers, body, address }
  return refusal === undefined ? request : { ...request, refusal }
}

/** The target as the client sent it: Express removes the path of a mount from `url`, but not from `originalUrl`. */
const targetOf = (incoming: IncomingMessage): string =>
  "originalUrl" in incoming && typeof incoming.originalUrl === "string" ? incoming.originalUrl : incoming.url ?? "/"

/** Sends a response. `wait` as in `writeLast`. */
const write = (outgoing: ServerResponse, { body, headers, status }: Response, wait = lingering): void => {
  if (outgoing.headersSent || outgoing.destroyed) return
  const length = headers["content-length"] ?? (hasContent(status) ? Buffer.byteLength(body) : undefined)
  const cut = !outgoing.req.complete && Incoming.hasBody(outgoing.req)
  const all: Record<string, string | number | Array<string>> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) all[name] = typeof value === "string" ? value : [...value]
  }
  if (length !== undefined) all["content-length"] = String(length)
  // The unread rest of a body cannot be distinguished from the next request.
  if (cut) all["connection"] = "close"
  outgoing.writeHead(status, all)
  if (cut && wait > 0) writeLast(outgoing, body, wait)
  else outgoing.end(body)
}

/**
 * Responds to a client that is still sending, reads no more, and closes after `wait` milliseconds. Closing a socket with
 * unread input resets it, which can destroy response bytes that the client has not read (RFC 9112 §9.6).
 */
const writeLast = (outgoing: ServerResponse, body: Response["body"], wait: number): void => {
  const incoming = outgoing.req
  const end = (): void => {
    clearTimeout(timer)
    incoming.off("close", end)
    outgoing.end()
  }
  const timer = setTimeout(end, wait)
  incoming.on("close", end).pause()
  outgoing.flushHeaders()
  outgoing.write(body)
}

/** Maximum number of pipelined requests that wait in this process. Each takes about 2 KB. */
const maxWaiting = 1024

/**
 * Makes a function that calls `serve` when all requests before this one on its connection have been answered (RFC 9112
 * §9.3.2). It closes a connection on which too many wait.
 */
const makeTurns = () => {
  const waiting = new WeakMap<Socket, number>()
  let total = 0

  const add = (socket: Socket, change: number): void => {
    total += change
    waiting.set(socket, (waiting.get(socket) ?? 0) + change)
  }

  return ({ socket }: IncomingMessage, outgoing: ServerResponse, serve: () => void): void => {
    // Node assigns a response its socket after the previous response.
    if (outgoing.socket !== null) return serve()
    if (socket.destroyed) return
    if (total >= maxWaiting) {
      socket.destroy()
      return
    }
    if (!waiting.has(socket)) socket.once("close", () => add(socket, -(waiting.get(socket) ?? 0)))
    add(socket, 1)
    outgoing.once("socket", () => {
      add(socket, -1)
      serve()
    })
  }
}

/** Time in milliseconds for the client to read the answer: closing immediately would reset the connection (RFC 9112 §9.6). */
const lingering = 2_000

const statuses: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout"
}

const closeWith = (socket: Duplex, code = ""): void => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), lingering)
  socket.once("close", () => clearTimeout(timer))
  socket.end(`HTTP/1.1 ${statuses[code] ?? "400 Bad Request"}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

/**
 * Answers invalid HTTP and slow requests, and then closes the connection. Without this, Node closes it immediately,
 * even during the response to an earlier request.
 */
const answerInvalid = (server: Server): void => {
  const latest = new WeakMap<Duplex, ServerResponse>()
  const invalid = new WeakSet<Duplex>()

  const answerInTurn = (socket: Duplex, code?: string): void => {
    const last = latest.get(socket)
    if (last === undefined || last.writableFinished || socket.destroyed) return closeWith(socket, code)
    if (last.req.complete || last.headersSent) last.once("close", () => closeWith(socket, code))
    // The body of this request is invalid, so this is its response.
    else if (last.socket === null) last.once("socket", () => answerInTurn(socket, code))
    else closeWith(socket, code)
  }

  server.prependListener("request", ({ socket }, response) => {
    latest.set(socket, response)
  })
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
    // Node also reports each later piece.
    if (invalid.has(socket)) return
    invalid.add(socket)
    answerInTurn(socket, code)
  })
}
