/** Parses and checks callback URLs. */
import type { UrlProblem } from "@startlist/core/Callbacks"
import * as Either from "effect/Either"
import { type Block, type CallbackProtocol, isIP, isWithin } from "./AddressGuard.ts"

/** The parts of an accepted callback URL that the dialler needs. */
export interface CallbackUrl {
  readonly protocol: CallbackProtocol
  /** Scheme, host and port. Callbacks with the same origin share connections. */
  readonly origin: string
  /** Host and port as in the `Host` header: without the port of the scheme. */
  readonly authority: string
  /** The port. Without one in the URL, that of the scheme. */
  readonly port: number
  /** Name or address to dial: lower case, without brackets, and with unusual spellings of IPv4 normalized. */
  readonly host: string
  /** Path and query, as they are sent. */
  readonly target: string
}

/** Characters that no URI contains (RFC 3986 §2), and that parsers interpret differently. */
const foreign = /[^\w\-.~:/?#[\]@!$&'()*+,;=%]/

/** RFC 3986 §3.2: everything up to the path, the query or the end. */
const authorityOf = /^https?:\/\/([^/?#]+)/i

/**
 * Parses a callback URL: https, or http if the operator allows it (an address in `allow`, or a name, which is checked
 * when it is resolved). At most 255 characters (requirements §8), without user info, fragment and trailing dot.
 */
export const parse = (text: string, allow: ReadonlyArray<Block>): Either.Either<CallbackUrl, UrlProblem> => {
  const given = authorityOf.exec(text)?.[1]
  if (given === undefined || text.length > 255 || /[@#]/.test(given) || text.includes("#")) return invalid
  if (/[\u0080-\uffff]/.test(given)) return Either.left("international_name")
  if (foreign.test(text)) return Either.left("characters")
  const url = tryParse(text)
  if (url === undefined) return invalid
  const { host: authority, hostname, origin, pathname, protocol, search } = url
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname
  if (host.endsWith(".")) return Either.left("trailing_dot")
  if (protocol !== "https:" && protocol !== "http:") return invalid
  const port = Number(url.port || (protocol === "https:" ? 443 : 80))
  if (host.length === 0 || port === 0) return invalid
  if (protocol === "http:" && !mayBeWithin(allow, host)) return invalid
  return Either.right({ protocol, origin, authority, host, port, target: pathname + search })
}

const invalid = Either.left<UrlProblem>("invalid")

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
export const makeParser = (allow: ReadonlyArray<Block>): (text: string) => Either.Either<CallbackUrl, UrlProblem> => {
  const remembered = new Map<string, Either.Either<CallbackUrl, UrlProblem>>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    if (remembered.size >= maxRemembered) remembered.clear()
    const parsed = parse(text, allow)
    remembered.set(text, parsed)
    return parsed
  }
}
