/** Order of requests and responses on a connection, and responses to invalid HTTP. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"

/** Maximum number of pipelined requests that wait in this process. Each takes about 2 KB. */
const maxWaiting = 1024

/** Calls `serve` when all requests before this one on its connection have been answered (RFC 9112 §9.3.2). */
export type Turns = (incoming: IncomingMessage, outgoing: ServerResponse, serve: () => void) => void

/** Makes a queue for all connections of a listener. A connection that exceeds it is closed. */
export const makeTurns = (): Turns => {
  const waiting = new WeakMap<Socket, number>()
  let total = 0

  const add = (socket: Socket, change: number): void => {
    total += change
    waiting.set(socket, (waiting.get(socket) ?? 0) + change)
  }

  return ({ socket }, outgoing, serve) => {
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
export const lingering = 2_000

const statuses: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Content Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout"
}

const answer = (socket: Duplex, code = ""): void => {
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
export const answerInvalid = (server: Server): void => {
  const latest = new WeakMap<Duplex, ServerResponse>()
  const invalid = new WeakSet<Duplex>()

  const answerInTurn = (socket: Duplex, code?: string): void => {
    const last = latest.get(socket)
    if (last === undefined || last.writableFinished || socket.destroyed) return answer(socket, code)
    if (last.req.complete || last.headersSent) last.once("close", () => answer(socket, code))
    // The body of this request is invalid, so this is its response.
    else if (last.socket === null) last.once("socket", () => answerInTurn(socket, code))
    else answer(socket, code)
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
