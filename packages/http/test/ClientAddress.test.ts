import { describe, expect, it } from "@effect/vitest"
import * as ClientAddress from "@startlist/http/ClientAddress"

describe("the address of a client", () => {
  const trusted = ClientAddress.parseNetworks(["10.0.0.0/8", "fd00::/8"])

  it("is the nearest one that is not a trusted proxy", () => {
    const cases: ReadonlyArray<readonly [peer: string, forwarded: string | undefined, address: string]> = [
      ["203.0.113.1", "1.1.1.1", "203.0.113.1"],
      ["10.0.0.1", undefined, "10.0.0.1"],
      ["10.0.0.1", "198.51.100.7", "198.51.100.7"],
      ["::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"],
      ["10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"],
      ["10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"],
      ["fd00::1", "2001:db8::1", "2001:db8::1"],
      ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
      ["10.0.0.1", "198.51.100.7:4711", "198.51.100.7"],
      ["10.0.0.1", "[2001:db8::1]:4711, 10.0.0.2:80", "2001:db8::1"],
      ["10.0.0.1", "[2001:DB8:0::1]", "2001:db8::1"],
      ["10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"],
      ["10.0.0.1", "198.51.100.7,", "198.51.100.7"],
      ["10.0.0.1", ", 198.51.100.7 , ,10.0.0.2, ", "198.51.100.7"]
    ]
    for (const [peer, forwarded, address] of cases) {
      expect([peer, forwarded, ClientAddress.clientAddress(peer, forwarded, trusted)]).toEqual([
        peer,
        forwarded,
        address
      ])
    }
  })

  it("is always a valid address", () => {
    for (
      const forwarded of [
        "",
        " , ,",
        "unknown",
        "198.51.100.7, <script>",
        "_hidden",
        "1.2.3.4:",
        "1.2.3.4:port",
        "[1.2.3.4]",
        "[::1",
        "1",
        "0x7f.1",
        "1.2.3.4.5",
        `${"1".repeat(15_000)}!`
      ]
    ) {
      expect(ClientAddress.clientAddress("10.0.0.1", forwarded, trusted)).toBe("10.0.0.1")
    }
  })
})
