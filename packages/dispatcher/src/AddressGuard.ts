/**
 * Allowed addresses of callbacks: the public internet, and blocks that the operator allows.
 *
 * The rules apply to addresses as the dialler reads them. Other spellings (`0177.1`, `0x7f000001`, `１２７.０.０.１`, a
 * trailing dot, a zone) are refused.
 */
import * as Option from "effect/Option"
import ipaddr from "ipaddr.js"

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A block of addresses: its first address and the length of its prefix in bits. */
export type Block = readonly [Address, number]

const ipv6 = /^[\da-f:]+(?::\d+(?:\.\d+){3})?$/i

/**
 * 4 or 6 for an address of this family, otherwise 0: `isIP` of `node:net`, for runtimes without Node. An address with a
 * zone gives 0, since no callback can have one.
 */
export const isIP = (text: string): 0 | 4 | 6 => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return 4
  return ipv6.test(text) && URL.canParse(`http://[${text}]`) ? 6 : 0
}

/** Parses CIDR notation (`10.0.0.0/8`, `fd00::/8`). None if it is invalid, or a block of IPv4-mapped addresses. */
export const parseBlock = (cidr: string): Option.Option<Block> => {
  const [first = "", bits = "", ...rest] = cidr.split("/")
  const address = parse(first)
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return Option.none()
  if (address.kind() === "ipv4" && first.includes(":")) return Option.none()
  const length = Number(bits)
  return length <= address.toByteArray().length * 8 ? Option.some([address, length]) : Option.none()
}

/** Parses an address like the dialler. IPv4-mapped addresses become IPv4 addresses, which the socket really calls. */
const parse = (text: string): Address | undefined => {
  const family = isIP(text)
  if (family === 0 || text.includes("%")) return undefined
  // As hexadecimal groups: ipaddr.js wrongly reads `::8.8.8.8` as an IPv4-mapped address.
  const address = ipaddr.parse(family === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

const isIn = (blocks: ReadonlyArray<Block>, address: Address): boolean =>
  blocks.some(([first, length]) => first.kind() === address.kind() && address.match(first, length))

const table = (...cidrs: ReadonlyArray<string>): ReadonlyArray<Block> =>
  cidrs.map((cidr) => Option.getOrThrow(parseBlock(cidr)))

/** The IANA IPv4 Special-Purpose Address Registry (RFC 6890), multicast, and the metadata service of Azure. */
const specialIPv4 = table(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared, carrier-grade NAT
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's platform
  "169.254.0.0/16", // link-local; the metadata services of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4" // reserved, broadcast
)

/** Global unicast, the only IPv6 space in use on the internet (RFC 4291 §2.4 and the IANA registry for it). */
const globalIPv6 = table("2000::/3")

/** The blocks of the IANA IPv6 Special-Purpose Address Registry inside 2000::/3. Its other blocks are outside. */
const specialIPv6 = table(
  "2001::/23", // protocol assignments: Teredo, benchmarks, AMT, ORCHID, DRIP
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4: an IPv4 address inside
  "2620:4f:8000::/48", // AS112
  "3fff::/20" // documentation
)

/** Whether this is a globally routable unicast address by IANA's registries. False for any other text. */
export const isPublic = (text: string): boolean => {
  const address = parse(text)
  if (address === undefined) return false
  return address instanceof ipaddr.IPv4
    ? !isIn(specialIPv4, address)
    : isIn(globalIPv6, address) && !isIn(specialIPv6, address)
}

/** Whether this is an address inside one of these blocks. */
export const isWithin = (blocks: ReadonlyArray<Block>, text: string): boolean => {
  const address = parse(text)
  return address !== undefined && isIn(blocks, address)
}

/**
 * Whether a callback with this scheme may be called at this address: https on the public internet and in the blocks
 * that the operator allows, http only in those blocks.
 */
export const permits = (protocol: CallbackProtocol, allow: ReadonlyArray<Block>, address: string): boolean =>
  isWithin(allow, address) || (protocol === "https:" && isPublic(address))

/** Schemes that a callback may have. */
export type CallbackProtocol = "http:" | "https:"
