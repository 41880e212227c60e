/** Connections to callbacks. Each serves one request at a time, and stays open for a short time for the next one. */
import type { Socket } from "node:net"
import type { CallbackUrl } from "../CallbackUrl.ts"
import { AnswerReader, type Sink, UnreadableAnswer } from "./AnswerReader.ts"
import type { Dial } from "./Dialler.ts"

/** A request in progress. */
export interface Handler extends Sink {
  /** Whether the request may still be sent, now that the connection is ready. */
  readonly mayBegin: () => boolean
  /** The connection or its answer has failed. It is closed. */
  readonly onError: (error: Error) => void
}

/** A connection, or an attempt to connect, for one request. */
export interface Connection {
  /** Sends the bytes of a request. */
  readonly send: (request: string, handler: Handler) => void
  /** Releases the connection for the next request, after a complete answer. The receiver keeps it for `keptMillis`. */
  readonly release: (keptMillis: number) => void
  /** Closes the connection immediately in any state, and frees its socket. */
  readonly discard: () => void
}

/** The connections to all callbacks. */
export interface Connections {
  readonly acquire: (url: CallbackUrl) => Connection
  /** Closes all connections, and ends their requests. */
  readonly close: () => void
}

/** Maximum number of idle connections, over all callbacks. */
const maxIdle = 1024

/** Maximum idle time in milliseconds. Some servers close after two seconds, without saying so. */
const maxIdleMillis = 1_500

/** Time in milliseconds by which a connection is closed before the receiver would close it. */
const closesBefore = 500

/** Maximum age in milliseconds: after it, the name is resolved again. */
const maxAge = 60_000

/** Maximum number of bytes of an answer on the wire: heads, the excerpt of the body, and HTTP framing. */
const maxAnswerBytes = 256 * 1024

/** Makes an empty set of connections. */
export const make = (dial: Dial): Connections => {
  /** The one used last is the last in its list, and the next to be used. */
  const idle = new Map<string, Array<Connection>>()
  /** Ends each open connection. */
  const ends = new Set<() => void>()
  let idleCount = 0

  const takeIdle = (origin: string): Connection | undefined => {
    const connection = idle.get(origin)?.at(-1)
    if (connection !== undefined) removeIdle(origin, connection)
    return connection
  }

  const putIdle = (origin: string, connection: Connection): void => {
    const connections = idle.get(origin)
    if (connections === undefined) idle.set(origin, [connection])
    else connections.push(connection)
    idleCount++
  }

  const removeIdle = (origin: string, connection: Connection): void => {
    const connections = idle.get(origin)
    const at = connections?.lastIndexOf(connection) ?? -1
    if (connections === undefined || at < 0) return
    connections.splice(at, 1)
    idleCount--
    if (connections.length === 0) idle.delete(origin)
  }

  const open = (url: CallbackUrl): Connection => {
    const openedAt = performance.now()
    let socket: Socket | undefined
    let isReady = false
    let isDiscarded = false
    let handler: Handler | undefined
    let request = ""
    let received = 0
    let idleTimer: NodeJS.Timeout | undefined

    const reader = new AnswerReader({
      onHead: (head) => handler?.onHead(head),
      onBody: (piece) => handler?.onBody(piece),
      onEnd: (keptMillis) => {
        const ended = handler
        handler = undefined
        ended?.onEnd(keptMillis)
      }
    })

    const fail = (error: Error): void => {
      const failed = handler
      connection.discard()
      failed?.onError(error)
    }

    const end = (): void => fail(new UnreadableAnswer("incomplete"))

    const read = (next: () => void): void => {
      try {
        next()
      } catch (error) {
        fail(error instanceof Error ? error : new UnreadableAnswer("malformed"))
      }
    }

    const onData = (bytes: Buffer): void => {
      // Bytes that belong to no request.
      if (handler === undefined) return connection.discard()
      received += bytes.length
      if (received > maxAnswerBytes) return fail(new UnreadableAnswer("too_large"))
      read(() => reader.read(bytes))
    }

    const write = (): void => {
      if (handler?.mayBegin() === true) socket?.write(request)
    }

    const connect = (): void => {
      socket = dial(url, (error, ready) => {
        if (error !== null) return fail(error)
        isReady = true
        ready.on("data", onData).on("error", fail)
          .on("end", () => handler === undefined ? connection.discard() : read(() => reader.end()))
          .on("close", end)
        write()
      })
      if (isDiscarded) socket?.destroy()
    }

    const connection: Connection = {
      send: (bytes, next) => {
        clearTimeout(idleTimer)
        handler = next
        request = bytes
        received = 0
        if (isReady) write()
        else connect()
      },
      release: (keptMillis) => {
        const millis = Math.min(maxIdleMillis, keptMillis - closesBefore)
        const isOld = performance.now() - openedAt > maxAge
        if (isDiscarded || isOld || millis <= 0 || idleCount >= maxIdle) return connection.discard()
        putIdle(url.origin, connection)
        idleTimer = setTimeout(connection.discard, millis).unref()
      },
      discard: () => {
        if (isDiscarded) return
        isDiscarded = true
        handler = undefined
        clearTimeout(idleTimer)
        ends.delete(end)
        removeIdle(url.origin, connection)
        socket?.destroy()
      }
    }
    ends.add(end)
    return connection
  }

  return {
    acquire: (url) => takeIdle(url.origin) ?? open(url),
    close: () => {
      for (const end of ends) end()
    }
  }
}
