/** Parses and checks callback URLs. */
import * as Option from "effect/Option"
import { isIP } from "./internal/isIP.ts"
import { type Block, type CallbackProtocol, isWithin } from "./AddressGuard.ts"

/** The parts of an accepted callback URL that the dialler needs. */
export interface CallbackUrl {
  readonly protocol: CallbackProtocol
  /** Scheme, host and port. Callbacks with the same origin share connections. */
  readonly origin: string
  /** The port. Without one in the URL, that of the scheme. */
  readonly port: number
  /** Name or address to dial: lower case, without brackets, and with unusual spellings of IPv4 normalized. */
  readonly host: string
  /** Path and query, as they are sent. */
  readonly target: string
}

/** The characters of a URI (RFC 3986 §2): printable ASCII without characters that parsers interpret differently. */
const uri = /^https?:\/\/(?!\/)[\w\-.~:/?[\]@!$&'()*+,;=%]+$/i

/** RFC 3986 §3.2: everything up to the path, the query or the end. */
const authority = /^[^/]+\/\/([^/?]*)/

/**
 * Parses a callback URL: https, or http if the operator allows it (an address in `allow`, or a name, which is checked
 * when it is resolved). At most 255 characters (requirements §8), without user info, fragment and trailing dot.
 */
export const parse = (text: string, allow: ReadonlyArray<Block>): Option.Option<CallbackUrl> => {
  if (text.length > 255 || !uri.test(text) || authority.exec(text)?.[1]?.includes("@") !== false) return Option.none()
  const url = tryParse(text)
  if (url === undefined) return Option.none()
  const { hostname, origin, pathname, protocol, search } = url
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname
  if (host.length === 0 || host.endsWith(".")) return Option.none()
  if (protocol !== "https:" && protocol !== "http:") return Option.none()
  const port = Number(url.port || (protocol === "https:" ? 443 : 80))
  if (port === 0) return Option.none()
  if (protocol === "http:" && !mayBeWithin(allow, host)) return Option.none()
  return Option.some({ protocol, origin, host, port, target: pathname + search })
}

const mayBeWithin = (allow: ReadonlyArray<Block>, host: string): boolean =>
  isIP(host) === 0 ? allow.length > 0 : isWithin(allow, host)

const tryParse = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Appends parameters to the query of a target. */
export const withQuery = (target: string, parameters: Readonly<Record<string, string>>): string => {
  // Spaces as %20: a receiver that only decodes percent signs reads them too. A literal plus is already %2B.
  const query = new URLSearchParams(parameters).toString().replaceAll("+", "%20")
  return `${target}${target.includes("?") ? "&" : "?"}${query}`
}

/** Maximum number of cached callback URLs. */
const maxRemembered = 4096

/** `parse` with a cache, for one `allow`: the same few URLs are called repeatedly. */
export const makeParser = (allow: ReadonlyArray<Block>): (text: string) => Option.Option<CallbackUrl> => {
  const remembered = new Map<string, Option.Option<CallbackUrl>>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    if (remembered.size >= maxRemembered) remembered.clear()
    const parsed = parse(text, allow)
    remembered.set(text, parsed)
    return parsed
  }
}
