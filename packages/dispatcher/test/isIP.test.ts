import { FastCheck } from "effect"
import * as net from "node:net"
import { expect, it } from "vitest"
import { isIP } from "../src/AddressGuard.ts"

const group = FastCheck.oneof(
  FastCheck.stringMatching(/^[\da-fA-F]{1,5}$/),
  FastCheck.constantFrom("", "0", "::", "ffff", "1.2.3.4", "256.1.1.1", "01.2.3.4", "1.2.3", "g", ".")
)
const octet = FastCheck.constantFrom("0", "1", "10", "255", "256", "00", "08", "0x1", "", "1a")

const text = FastCheck.oneof(
  FastCheck.ipV4Extended(),
  FastCheck.ipV4(),
  FastCheck.ipV6(),
  FastCheck.array(group, { minLength: 1, maxLength: 9 }).map((groups) => groups.join(":")),
  FastCheck.array(octet, { minLength: 3, maxLength: 5 }).map((octets) => octets.join(".")),
  FastCheck.string()
)

it("has the result of node:net for every text without a zone", () => {
  FastCheck.assert(
    FastCheck.property(text.filter((one) => !one.includes("%")), (one) => {
      expect([one, isIP(one)]).toEqual([one, net.isIP(one)])
    }),
    { numRuns: 5000 }
  )
})

it("an address with a zone is refused", () => {
  expect([isIP("fe80::1%eth0"), isIP("fe80::1%25eth0")]).toEqual([0, 0])
})
