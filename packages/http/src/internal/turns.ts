/** Processes pipelined requests of a connection one at a time, since their responses must be in order. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** Maximum number of pipelined requests that wait in this process. Each takes about 2 KB. */
const maxWaiting = 1024

/** Calls `serve` when all requests before this one on its connection have been answered (RFC 9112 §9.3.2). */
export type Turns = (incoming: IncomingMessage, outgoing: ServerResponse, serve: () => void) => void

/** Makes a queue for all connections of a listener. A connection that exceeds it is closed. */
export const make = (): Turns => {
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
