/** Connections to callbacks. Each serves one request at a time, and stays open for a short time for the next one. */
import type { Socket } from "node:net"
import { Client, type Dispatcher } from "undici"
import type { CallbackUrl } from "./CallbackUrl.ts"
import type { Dial } from "./Dialler.ts"

/** A connection, or an attempt to connect, for one request. */
export interface Connection {
  readonly send: (request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void
  /** Releases the connection for the next request, after the response was read to its end. */
  readonly release: () => void
  /** Closes the connection immediately in any state, and frees its socket. */
  readonly discard: () => void
}

export interface Connections {
  readonly acquire: (url: CallbackUrl) => Connection
  /** Closes all connections, and ends their requests. */
  readonly close: () => void
}

/** Maximum number of idle connections, over all callbacks. */
const maxIdle = 1024

/** Maximum number of bytes of a response on the wire: headers, the excerpt of the body, and HTTP framing. */
const maxAnswerBytes = 256 * 1024

/** The response exceeds `maxAnswerBytes`. */
export class AnswerTooLarge extends Error {
  readonly code = "ANSWER_TOO_LARGE"
}

export const make = (dial: Dial): Connections => {
  const idle = new Map<string, Array<Connection>>()
  const all = new Set<Connection>()
  let idleCount = 0

  const takeIdle = (origin: string): Connection | undefined => {
    const connections = idle.get(origin)
    const connection = connections?.pop()
    if (connection !== undefined) idleCount--
    if (connections?.length === 0) idle.delete(origin)
    return connection
  }

  const putIdle = (origin: string, connection: Connection): void => {
    const connections = idle.get(origin)
    if (connections === undefined) idle.set(origin, [connection])
    else connections.push(connection)
    idleCount++
  }

  const isIdle = (origin: string, connection: Connection): boolean => idle.get(origin)?.includes(connection) === true

  const removeIdle = (origin: string, connection: Connection): void => {
    const connections = idle.get(origin)
    const at = connections?.indexOf(connection) ?? -1
    if (connections === undefined || at < 0) return
    connections.splice(at, 1)
    idleCount--
    if (connections.length === 0) idle.delete(origin)
  }

  const open = (url: CallbackUrl): Connection => {
    let socket: Socket | undefined
    let bytesBefore = 0
    const checkSize = () => {
      if (socket !== undefined && socket.bytesRead - bytesBefore > maxAnswerBytes) socket.destroy(new AnswerTooLarge())
    }
    const client = new Client(url.origin, {
      connect: (_, dialled) => {
        bytesBefore = 0
        socket = dial(url, (...result) => {
          if (result[1] !== null) result[1].on("readable", checkSize)
          dialled(...result)
        })
      },
      // The request has its own deadline: undici's timers are only exact to half a second.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 10_000
    })
    const connection: Connection = {
      send: (request, handler) => {
        bytesBefore = socket?.bytesRead ?? 0
        client.dispatch(request, handler)
      },
      release: () => {
        if (idleCount < maxIdle && !client.destroyed) putIdle(url.origin, connection)
        else connection.discard()
      },
      discard: () => {
        all.delete(connection)
        removeIdle(url.origin, connection)
        client.destroy(() => {})
        socket?.destroy()
      }
    }
    all.add(connection)
    // A connection that closes during a request reports it to the request, or reconnects if nothing was sent yet.
    client.on("disconnect", () => {
      if (isIdle(url.origin, connection)) connection.discard()
    })
    return connection
  }

  return {
    acquire: (url) => takeIdle(url.origin) ?? open(url),
    close: () => {
      for (const connection of all) connection.discard()
    }
  }
}
