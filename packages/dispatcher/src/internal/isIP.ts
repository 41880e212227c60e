/** `isIP` of `node:net`, for runtimes without Node. */
import ipaddr from "ipaddr.js"

const v6 = /^[\da-f:.]+$/i

/** Matches the four decimal parts that may end an IPv6 address, the only place for a dot in it. */
const mixed = /^[\da-f:]+(?::\d+(?:\.\d+){3})?$/i

/** 4 or 6 for an address of this family, otherwise 0. An address with a zone gives 0: no callback can have one. */
export const isIP = (text: string): 0 | 4 | 6 => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return 4
  return v6.test(text) && mixed.test(text) && URL.canParse(`http://[${text}]`) ? 6 : 0
}
