/**
 * Which addresses a callback may be at: the public internet, and what the operator opened by name.
 *
 * The rules are about addresses alone, as the dialler sees them. A spelling that the
 * dialler does not read as an address (`0177.1`, `0x7f000001`, `１２７.０.０.１`, a trailing dot, a zone) is refused.
 */
import * as Option from "effect/Option"
import ipaddr from "ipaddr.js"
import { isIP } from "./internal/isIP.ts"

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A block of addresses: its first one and the number of bits that its addresses have in common. */
export type Block = readonly [Address, number]

/** The block of this CIDR notation (`10.0.0.0/8`, `fd00::/8`); none if it is not one, or of IPv4-mapped addresses. */
export const parseBlock = (cidr: string): Option.Option<Block> => {
  const [first = "", bits = "", ...rest] = cidr.split("/")
  const address = parse(first)
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return Option.none()
  if (address.kind() === "ipv4" && first.includes(":")) return Option.none()
  const length = Number(bits)
  return length <= address.toByteArray().length * 8 ? Option.some([address, length]) : Option.none()
}

/** An address as the dialler reads it; an IPv4-mapped one is the IPv4 address that is really called. */
const parse = (text: string): Address | undefined => {
  const family = isIP(text)
  if (family === 0 || text.includes("%")) return undefined
  // As hexadecimal groups: ipaddr.js takes `::8.8.8.8` for an IPv4-mapped address, which it is not.
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

/** What the IANA IPv6 Special-Purpose Address Registry has inside 2000::/3. The rest of it lies outside. */
const specialIPv6 = table(
  "2001::/23", // protocol assignments: Teredo, benchmarks, AMT, ORCHID, DRIP
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4: an IPv4 address inside
  "2620:4f:8000::/48", // AS112
  "3fff::/20" // documentation
)

/** Whether this is a globally routable unicast address, by the registries of IANA. Anything but an address is not. */
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
 * Whether a callback with this scheme may be called at this address: with https on the public internet and in the
 * blocks that the operator allows, with http in those blocks only.
 */
export const permits = (protocol: CallbackProtocol, allow: ReadonlyArray<Block>, address: string): boolean =>
  isWithin(allow, address) || (protocol === "https:" && isPublic(address))

/** The schemes that are called at all. */
export type CallbackProtocol = "http:" | "https:"
