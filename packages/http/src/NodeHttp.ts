/** The binding to `node:http`: reads a request, runs the handler, writes its response. */
import { Buffer } from "node:buffer"
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { clientAddress, parseNetworks } from "./ClientAddress.ts"
import { hasBody, readBody } from "./internal/nodeBody.ts"
import type { Handler, Request, Response } from "./Message.ts"
import { Site } from "./Site.ts"

export interface Options {
  /** A request must have arrived and been answered within so long. Default: 30 seconds. */
  readonly timeout?: Duration.DurationInput
}

/**
 * A listener for `http.createServer`, or for some paths of a server that is there already.
 *
 * Every request runs on one prepared runtime, in a fiber that is interrupted when the client goes away. A body over the
 * limit is cut there, and refused by the endpoint; one that does not come in time is answered with 408.
 */
export const listener = (handler: Handler, options: Options = {}): Effect.Effect<RequestListener> =>
  Effect.gen(function*() {
    const { trustedProxies } = yield* Site
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const trusted = parseNetworks(trustedProxies)
    const timeout = Duration.toMillis(options.timeout ?? "30 seconds")

    const answer = (outgoing: ServerResponse, exit: Exit.Exit<Response>): void => {
      if (Exit.isSuccess(exit)) return write(outgoing, exit.value)
      if (Cause.isInterruptedOnly(exit.cause)) return write(outgoing, tooSlow)
      runFork(Effect.logError("a request died of a bug", exit.cause))
      write(outgoing, broken)
    }

    const run = (incoming: IncomingMessage, outgoing: ServerResponse, body: Uint8Array): void => {
      const forwardedFor = incoming.headers["x-forwarded-for"]
      const address = clientAddress(incoming.socket.remoteAddress, String(forwardedFor ?? "") || undefined, trusted)
      const request = toRequest(incoming, body, address)
      const fiber = runFork(Effect.suspend(() => handler(request)))
      const exit = fiber.unsafePoll()
      if (exit === null) wait(fiber, outgoing)
      else answer(outgoing, exit)
    }

    /** The request is still running: ends it when the client goes away or the time is over. */
    const wait = (fiber: Fiber.RuntimeFiber<Response>, outgoing: ServerResponse): void => {
      const interrupt = () => fiber.unsafeInterruptAsFork(fiber.id())
      const timer = setTimeout(interrupt, timeout)
      outgoing.once("close", interrupt)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        outgoing.off("close", interrupt)
        answer(outgoing, exit)
      })
    }

    return (incoming, outgoing) =>
      readBody(incoming, timeout, {
        onBody: (body) => run(incoming, outgoing, body),
        onTimeout: () => write(outgoing, tooLate)
      })
  })

/** Limits how long a connection of this server may take for its headers, and for a whole request. */
export const harden = (server: Server): Server => {
  server.headersTimeout = 10_000
  server.requestTimeout = 60_000
  server.keepAliveTimeout = 65_000
  return server
}

const closing = { "connection": "close", "cache-control": "no-store" }
const tooLate: Response = { status: 408, headers: closing, body: "" }
const tooSlow: Response = { status: 503, headers: { ...closing, "retry-after": "5" }, body: "" }
const broken: Response = { status: 500, headers: closing, body: "" }

const toRequest = (incoming: IncomingMessage, body: Uint8Array, address: string): Request => {
  const target = toOriginForm(incoming.url ?? "/")
  const mark = target.indexOf("?")
  return {
    method: incoming.method ?? "GET",
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? "" : target.slice(mark + 1),
    headers: incoming.headers,
    body,
    address
  }
}

/** Proxies may send an absolute target (RFC 9112 §3.2.2): without its scheme and host it is like any other. */
const toOriginForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/^(?=$|\?)/, "/")

const write = (outgoing: ServerResponse, { body, headers, status }: Response): void => {
  if (outgoing.headersSent || outgoing.destroyed) return
  const length = headers["content-length"] ?? (status === 204 ? undefined : Buffer.byteLength(body))
  const cut = !outgoing.req.complete && hasBody(outgoing.req)
  const all: Record<string, string | number | Array<string>> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) all[name] = typeof value === "string" ? value : [...value]
  }
  if (length !== undefined) all["content-length"] = String(length)
  // What is left of a body that was not read to its end cannot be told from the next request.
  if (cut) all["connection"] = "close"
  outgoing.writeHead(status, all)
  outgoing.end(body)
}
