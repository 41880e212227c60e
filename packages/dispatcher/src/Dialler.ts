/** Opens connections to callbacks, to addresses that the guard permits and to no others. */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net"
import { connect as connectTls, createSecureContext, rootCertificates } from "node:tls"
import { type Block, permits } from "./AddressGuard.ts"
import type { CallbackUrl } from "./CallbackUrl.ts"
import type { Resolve } from "./Resolver.ts"

/** The guard refused an address. Nothing was sent to it. */
export class ForbiddenAddress extends Error {
  readonly code = "FORBIDDEN_ADDRESS"
}

/** Told once: the socket that is ready for HTTP, or why there is none. */
export type Dialled = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void

/** Starts a connection. The socket that is returned can be destroyed at any time to give it up. */
export type Dial = (url: CallbackUrl, dialled: Dialled) => Socket | undefined

export interface Options {
  readonly allow: ReadonlyArray<Block>
  readonly resolve: Resolve
  /** Certificate authorities in PEM to trust besides those of Node. */
  readonly ca: ReadonlyArray<string>
}

/**
 * TLS 1.2 or later, verified whatever the environment says, with the callback's name as SNI.
 *
 * The socket gets the very addresses that were checked, so a name that resolves differently a moment later changes
 * nothing. A name is refused if any of its addresses is.
 */
export const make = ({ allow, ca, resolve }: Options): Dial => {
  const secureContext = createSecureContext({
    minVersion: "TLSv1.2",
    ...(ca.length > 0 ? { ca: [...rootCertificates, ...ca] } : {})
  })

  return (url, dialled) => {
    const { host, port, protocol } = url
    const isPermitted = (address: string) => permits(protocol, allow, address)
    if (isIP(host) !== 0 && !isPermitted(host)) {
      dialled(new ForbiddenAddress(), null)
      return undefined
    }
    const target = { host, port, lookup: guarded(resolve, isPermitted), autoSelectFamily: true, noDelay: true }
    const socket = protocol === "https:"
      ? connectTls({
        ...target,
        secureContext,
        rejectUnauthorized: true,
        servername: isIP(host) === 0 ? host : "",
        ALPNProtocols: ["http/1.1"]
      })
      : connectTcp(target)

    let isTold = false
    const tell: Dialled = (...result) => {
      if (isTold) return
      isTold = true
      dialled(...result)
    }
    return socket
      .once(protocol === "https:" ? "secureConnect" : "connect", () => tell(null, socket))
      .on("error", (error) => tell(error, null))
      .once("close", () => tell(new Error("closed"), null))
  }
}

/** Resolves a name for the socket, which then dials what this gave it. */
const guarded =
  (resolve: Resolve, isPermitted: (address: string) => boolean): LookupFunction => (name, options, callback) => {
    addressesOf(name, resolve, isPermitted).then((addresses) => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }))
      const [first] = found
      if (first === undefined) return callback(new ForbiddenAddress(), "")
      return options.all === true ? callback(null, found) : callback(null, first.address, first.family)
    }, (error: Error) => callback(error, ""))
  }

/** None if they are not all permitted. `localhost` is loopback, and asked of nobody (RFC 6761 §6.3). */
const addressesOf = async (
  name: string,
  resolve: Resolve,
  isPermitted: (address: string) => boolean
): Promise<ReadonlyArray<string>> => {
  if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"].filter(isPermitted)
  const addresses = await resolve(name)
  return addresses.every(isPermitted) ? addresses : []
}
