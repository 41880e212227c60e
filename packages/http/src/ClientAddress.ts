/** The address of a client behind proxies that the operator trusts, and its network. */
import ipaddr from "ipaddr.js"

/** A network: its address and the length of its prefix in bits. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Parses CIDRs. Throws on an invalid one, which the configuration has excluded. */
export const parseNetworks = (cidrs: ReadonlyArray<string>): ReadonlyArray<Network> =>
  cidrs.map((cidr) => ipaddr.parseCIDR(cidr))

/**
 * The nearest address that is not a trusted proxy: the peer, or the last untrusted entry of `X-Forwarded-For`, which
 * each proxy extends on the right. The client may have invented entries further left.
 */
export const clientAddress = (
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: ReadonlyArray<Network>
): string => {
  let address = peer ?? ""
  if (trusted.length === 0 || forwardedFor === undefined) return address
  for (const entry of forwardedFor.split(",").reverse()) {
    const text = entry.trim()
    if (text === "") continue
    const claimed = parseEntry(text)
    if (claimed === undefined || !isTrusted(address, trusted)) return address
    address = claimed
  }
  return address
}

/** Whether this is the address of a proxy that the operator trusts. */
export const isTrusted = (address: string, trusted: ReadonlyArray<Network>): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return trusted.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match([network, bits]))
}

/** An address with a port, as some proxies write it: `[2001:db8::1]:443`, `203.0.113.9:443`. */
const withPort = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d{1,5})?$/i

/** The address in an entry, without port and brackets. IPv4-mapped IPv6 addresses become IPv4 addresses. */
const parseEntry = (entry: string): string | undefined => {
  if (entry.length > 64) return undefined
  const [, ipv6, ipv4] = withPort.exec(entry) ?? []
  const address = ipv6 ?? ipv4 ?? entry
  const isAddress = ipv6 !== undefined || address.includes(":")
    ? ipaddr.IPv6.isValid(address)
    : ipaddr.IPv4.isValidFourPartDecimal(address)
  return isAddress ? ipaddr.process(address).toString() : undefined
}

/** A network, and the number of customers whose share of a limit it has. */
export interface Share {
  readonly network: string
  readonly share: number
}

/** A household has a /64 or a /56, a company or hoster a /48. */
const ipv6Networks = [
  { bits: 64, share: 1 },
  { bits: 56, share: 4 },
  { bits: 48, share: 16 }
] as const

/** The networks of an address, the narrowest first: an IPv4 address, or the /64, the /56 and the /48 of an IPv6 address. */
export const networksOf = (address: string): readonly [Share, ...ReadonlyArray<Share>] => {
  if (!address.includes(":") || !ipaddr.IPv6.isValid(address)) return [{ network: address, share: 1 }]
  const parsed = ipaddr.IPv6.parse(address)
  if (parsed.isIPv4MappedAddress()) return [{ network: parsed.toIPv4Address().toString(), share: 1 }]
  const parts = parsed.parts.slice(0, 4)
  const inNetwork = ({ bits, share }: typeof ipv6Networks[number]): Share => ({
    network: `${parts.map((part, place) => (part & maskOf(bits - 16 * place)).toString(16)).join(":")}::/${bits}`,
    share
  })
  const [household, ...wider] = ipv6Networks
  return [inNetwork(household), ...wider.map(inNetwork)]
}

/** The mask of the first bits of a group of 16. */
const maskOf = (bits: number): number => 0xffff & (0xffff << (16 - Math.max(0, Math.min(16, bits))))

/** The network of one customer: an IPv4 address, or the /64 of an IPv6 address, since one person has a whole /64. */
export const networkOf = (address: string): string => networksOf(address)[0].network
