/**
 * Connections to callbacks, only to addresses that the guard permits. Each serves one request at a time, and stays open for
 * a short time for the next one.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from "node:tls"
import type { CallbackProtocol } from "../AddressGuard.ts"
import type { CallbackUrl } from "../CallbackUrl.ts"
import { NoAddress, type Resolve } from "../Resolver.ts"
import { AnswerReader, type Sink, UnreadableAnswer } from "./AnswerReader.ts"

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

/** How names are resolved, and who may be called. */
export interface Options {
  /** Whether a callback with this scheme may be called at this address. */
  readonly mayDial: (protocol: CallbackProtocol, address: string) => boolean
  readonly resolve: Resolve
  /** Certificate authorities in PEM to trust besides those of Node. */
  readonly ca: ReadonlyArray<string>
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
export const make = (options: Options): Connections => {
  const dial = makeDial(options)
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

/** The guard refused an address. Nothing was sent to it. */
class ForbiddenAddress extends Error {
  readonly code = "FORBIDDEN_ADDRESS"
}

/** The resolver failed with something other than an error of `node:dns`. */
class UnresolvedName extends Error {
  readonly code = "ESERVFAIL"
}

/** Called once, with a socket that is ready for HTTP, or with an error. */
type Dialled = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void

/** Starts a connection. Destroy the returned socket at any time to cancel it. */
type Dial = (url: CallbackUrl, dialled: Dialled) => Socket | undefined

/**
 * Time in milliseconds for each address of a name but the last. Node's 250 would give up receivers on other continents.
 * With it, the third address still has its turn within two seconds.
 */
const addressMillis = 700

/**
 * TLS 1.2 or later with the callback's name as SNI, and always verified, with any environment variables.
 *
 * The socket connects to the addresses that were checked, so a name that resolves differently later has no effect. A
 * name is refused if any of its addresses is.
 */
const makeDial = ({ ca, mayDial, resolve }: Options): Dial => {
  let context: SecureContext | undefined
  /** Made with the first connection, because it parses all certificates. */
  const secureContext = (): SecureContext =>
    context ??= createSecureContext({
      minVersion: "TLSv1.2",
      ...(ca.length > 0 ? { ca: [...rootCertificates, ...ca] } : {})
    })

  return (url, dialled) => {
    const { host, port, protocol } = url
    const isPermitted = (address: string) => mayDial(protocol, address)
    if (isIP(host) !== 0 && !isPermitted(host)) {
      dialled(new ForbiddenAddress(), null)
      return undefined
    }
    const lookup = guarded(resolve, isPermitted, (error) => socket.destroy(error))
    const target = {
      host,
      port,
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressMillis,
      noDelay: true
    }
    const socket: Socket = protocol === "https:"
      ? connectTls({
        ...target,
        secureContext: secureContext(),
        rejectUnauthorized: true,
        servername: isIP(host) === 0 ? host : "",
        ALPNProtocols: ["http/1.1"]
      })
      : connectTcp(target)

    let isTold = false
    const tell: Dialled = (...result) => {
      if (isTold) return
      isTold = true
      try {
        dialled(...result)
      } catch (bug) {
        socket.destroy(toError(bug))
      }
    }
    return socket
      .once(protocol === "https:" ? "secureConnect" : "connect", () => tell(null, socket))
      .on("error", (error) => tell(error, null))
      .once("close", () => tell(new Error("closed"), null))
  }
}

const toError = (reason: unknown): Error => reason instanceof Error ? reason : new Error("broken", { cause: reason })

/**
 * Resolves a name for the socket, which then dials exactly these addresses. On a failure, it destroys the socket: a
 * lookup callback treats a falsy error as success, and a throw in it would end the process.
 */
const guarded = (
  resolve: Resolve,
  isPermitted: (address: string) => boolean,
  fail: (error: Error) => void
): LookupFunction =>
(name, options, callback) => {
  addressesOf(name, resolve, isPermitted).then((addresses) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = found
    if (first === undefined) throw new NoAddress()
    return options.all === true ? callback(null, found) : callback(null, first.address, first.family)
  }).catch((reason: unknown) => fail(toError(reason)))
}

/** Rejects if any address is not permitted. `localhost` is loopback without a lookup (RFC 6761 §6.3). */
const addressesOf = async (
  name: string,
  resolve: Resolve,
  isPermitted: (address: string) => boolean
): Promise<ReadonlyArray<string>> => {
  if (name === "localhost" || name.endsWith(".localhost")) {
    const permitted = ["127.0.0.1", "::1"].filter(isPermitted)
    if (permitted.length > 0) return permitted
    throw new ForbiddenAddress()
  }
  const addresses = await resolved(name, resolve)
  if (addresses.every(isPermitted)) return addresses
  throw new ForbiddenAddress()
}

const resolved = async (name: string, resolve: Resolve): Promise<ReadonlyArray<string>> => {
  try {
    return await resolve(name)
  } catch (reason) {
    throw reason instanceof Error && "code" in reason ? reason : new UnresolvedName("no code", { cause: reason })
  }
}
