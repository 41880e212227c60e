import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import * as net from "node:net"
import { AddressGuard, CallbackUrl } from "@startlist/dispatcher"
import { ipv4, ipv6 } from "./SpecialAddresses.ts"

const loopback = ["127.0.0.0/8", "::1/128"].map((cidr) => Option.getOrThrow(AddressGuard.parseBlock(cidr)))
const mapped = (address: string) => `::ffff:${address}`

describe("the address guard, by the special-purpose registries of IANA", () => {
  it.each([...ipv4, ...ipv6])(
    "refuses the first, last and inner addresses of $block, and not its neighbours",
    ({ neighbours, refused }) => {
      for (const address of refused) expect([address, AddressGuard.isPublic(address)]).toEqual([address, false])
      for (const address of neighbours ?? []) expect([address, AddressGuard.isPublic(address)]).toEqual([address, true])
    }
  )

  it.each(ipv4)("treats $block the same if it is IPv4-mapped", ({ neighbours, refused }) => {
    for (const address of refused) expect([address, AddressGuard.isPublic(mapped(address))]).toEqual([address, false])
    for (const address of neighbours ?? []) {
      expect([address, AddressGuard.isPublic(mapped(address))]).toEqual([address, true])
    }
  })

  it.each(["8.8.8.8", "1.1.1.1", "93.184.216.34", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::1"])(
    "allows the public address %s",
    (address) => expect(AddressGuard.isPublic(address)).toBe(true)
  )

  it.each([
    ["octal", "0177.0.0.1"],
    ["octal in one part", "010.8.8.8"],
    ["hexadecimal", "0x7f.0.0.1"],
    ["one hexadecimal number", "0x7f000001"],
    ["one decimal number", "2130706433"],
    ["short", "127.1"],
    ["full-width digits", "１２７.０.０.１"],
    ["a trailing dot", "8.8.8.8."],
    ["a zone", "fe80::1%eth0"],
    ["a public address with a zone", "2606:4700::1111%1"],
    ["brackets", "[2606:4700::1111]"],
    ["a space", " 8.8.8.8"],
    ["a name", "example.com"],
    ["nothing", ""]
  ])("refuses what the dialler would not take for an address: %s", (_, text) => {
    expect(AddressGuard.isPublic(text)).toBe(false)
    expect(AddressGuard.isWithin(loopback, text)).toBe(false)
  })
})

describe("the allow list", () => {
  const allow = (...cidrs: ReadonlyArray<string>) =>
    cidrs.map((cidr) => Option.getOrThrow(AddressGuard.parseBlock(cidr)))

  it.each([...ipv4, ...ipv6])("allows no address of $block by default", ({ refused }) => {
    for (const address of refused) expect(AddressGuard.permits("https:", [], address)).toBe(false)
  })

  it("allows only the addresses that it contains", () => {
    const opened = allow("10.1.0.0/16", "fd00::/8")
    expect(
      ["10.1.0.1", "10.2.0.1", "127.0.0.1", "fd12::1", "fc00::1", "::ffff:10.1.0.1"].map((address) =>
        AddressGuard.permits("https:", opened, address)
      )
    ).toEqual([true, false, false, true, false, true])
  })

  it("is required for http; https may also call the public internet", () => {
    const opened = allow("127.0.0.0/8")
    expect(AddressGuard.permits("http:", opened, "127.0.0.1")).toBe(true)
    expect(AddressGuard.permits("http:", opened, "8.8.8.8")).toBe(false)
    expect(AddressGuard.permits("https:", opened, "8.8.8.8")).toBe(true)
  })

  it.each(["127.0.0.0/8", "10.0.0.1/32", "0.0.0.0/0", "::1/128", "fd00::/8", "::/0"])(
    "accepts %s",
    (cidr) => expect(Option.isSome(AddressGuard.parseBlock(cidr))).toBe(true)
  )

  it.each([
    "",
    "/",
    "127.0.0.1",
    "127.0.0.0/33",
    "127.0.0.0/-1",
    "127.0.0.0/8/8",
    "127.0.0.0/",
    "127.0.0.0/0x8",
    "127.0.0.0/8 ",
    "127/8",
    "0177.0.0.0/8",
    "::1/129",
    "fe80::1%eth0/10",
    "::ffff:127.0.0.0/104",
    "localhost/8",
    "10.0.0.0/255.0.0.0"
  ])("does not understand %j", (cidr) => expect(Option.isNone(AddressGuard.parseBlock(cidr))).toBe(true))
})

describe("unusual spellings of addresses in callback URLs", () => {
  const hostOf = (url: string) => Either.getOrUndefined(CallbackUrl.parse(url, []))?.host

  it.each([
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "0177.1.",
    "%31%32%37.0.0.1",
    "127.0.0.0x1"
  ])("https://%s/ is dialled as 127.0.0.1, which is refused", (spelling) => {
    expect(hostOf(`https://${spelling}/`)).toBe("127.0.0.1")
    expect(AddressGuard.permits("https:", [], "127.0.0.1")).toBe(false)
  })

  it.each(["[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:0001]"])(
    "https://%s/ is refused",
    (spelling) => {
      const host = hostOf(`https://${spelling}/`)
      expect(host).toBe("::ffff:7f00:1")
      expect(AddressGuard.permits("https:", [], host ?? "")).toBe(false)
      expect(AddressGuard.permits("https:", loopback, host ?? "")).toBe(true)
    }
  )

  it.each([
    "https://１２７.０.０.１/",
    "https://127。0。0。1/",
    "https://①②⑦.0.0.1/",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://0x100000000/",
    "https://example.com./",
    "https://localhost./",
    "https://[fe80::1%25eth0]/",
    "https://[::1/",
    "https://[127.0.0.1]/"
  ])("%s is no callback URL", (url) => expect(hostOf(url)).toBeUndefined())
})

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

describe("isIP", () => {
  it("has the result of node:net for every text without a zone", () => {
    FastCheck.assert(
      FastCheck.property(text.filter((one) => !one.includes("%")), (one) => {
        expect([one, AddressGuard.isIP(one)]).toEqual([one, net.isIP(one)])
      }),
      { numRuns: 5000 }
    )
  })

  it("refuses an address with a zone", () => {
    expect([AddressGuard.isIP("fe80::1%eth0"), AddressGuard.isIP("fe80::1%25eth0")]).toEqual([0, 0])
  })
})
