/** Opens connections to callbacks, only to addresses that the guard permits. */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from "node:tls"
import type { CallbackProtocol } from "../AddressGuard.ts"
import type { CallbackUrl } from "../CallbackUrl.ts"
import { NoAddress, type Resolve } from "../Resolver.ts"

/** The guard refused an address. Nothing was sent to it. */
export class ForbiddenAddress extends Error {
  readonly code = "FORBIDDEN_ADDRESS"
}

/** The resolver failed with something other than an error of `node:dns`. */
export class UnresolvedName extends Error {
  readonly code = "ESERVFAIL"
}

/** Called once, with a socket that is ready for HTTP, or with an error. */
export type Dialled = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void

/** Starts a connection. Destroy the returned socket at any time to cancel it. */
export type Dial = (url: CallbackUrl, dialled: Dialled) => Socket | undefined

/** How names are resolved, and who may be called. */
export interface Options {
  /** Whether a callback with this scheme may be called at this address. */
  readonly mayDial: (protocol: CallbackProtocol, address: string) => boolean
  readonly resolve: Resolve
  /** Certificate authorities in PEM to trust besides those of Node. */
  readonly ca: ReadonlyArray<string>
}

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
export const make = ({ ca, mayDial, resolve }: Options): Dial => {
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
