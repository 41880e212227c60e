/** Responses to invalid HTTP, sent after those to earlier requests on the connection. */
import type { Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

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
export const answerDamaged = (server: Server): void => {
  const latest = new WeakMap<Duplex, ServerResponse>()
  const damaged = new WeakSet<Duplex>()

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
    if (damaged.has(socket)) return
    damaged.add(socket)
    answerInTurn(socket, code)
  })
}
