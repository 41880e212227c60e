/** The address of a client behind proxies that the operator trusts. */
import ipaddr from "ipaddr.js"

export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Networks from CIDRs. Throws for what is none: configuration is checked before. */
export const parseNetworks = (cidrs: ReadonlyArray<string>): ReadonlyArray<Network> =>
  cidrs.map((cidr) => ipaddr.parseCIDR(cidr))

/**
 * The nearest address that is no trusted proxy: the peer, or else the last untrusted entry of `X-Forwarded-For`, which
 * each proxy extends on the right. What stands further left is the client's own claim.
 */
export const clientAddress = (
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: ReadonlyArray<Network>
): string => {
  let address = peer ?? ""
  if (trusted.length === 0 || forwardedFor === undefined) return address
  for (const entry of forwardedFor.split(",").reverse()) {
    const claimed = entry.trim()
    if (!isTrusted(address, trusted) || !ipaddr.isValid(claimed)) return address
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
