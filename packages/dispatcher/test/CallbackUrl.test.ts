import { describe, expect, it } from "@effect/vitest"
import { AddressGuard, CallbackUrl } from "@startlist/dispatcher"
import { Either, Option } from "effect"

const loopback = ["127.0.0.0/8", "::1/128"].map((cidr) => Option.getOrThrow(AddressGuard.parseBlock(cidr)))
const isAccepted = (url: string, allow: ReadonlyArray<AddressGuard.Block> = []) =>
  Either.isRight(CallbackUrl.parse(url, allow))

describe("a callback URL", () => {
  it.each([
    "https://example.com",
    "https://example.com/hook",
    "HTTPS://EXAMPLE.com/Hook?a=b&c=%20d",
    "https://example.com:8443/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://xn--bcher-kva.example/",
    "https://example.com/@user"
  ])("may be %s", (url) => expect(isAccepted(url)).toBe(true))

  it.each([
    ["empty", ""],
    ["another scheme", "ftp://example.com/"],
    ["a scheme that looks like ours", "httpss://example.com/"],
    ["no authority", "https:example.com"],
    ["no authority", "https:/example.com"],
    ["an empty authority", "https:///example.com/"],
    ["backslashes", "https:\\\\example.com\\"],
    ["a user", "https://user@example.com/"],
    ["a user and a password", "https://user:pw@example.com/"],
    ["an empty user", "https://@example.com/"],
    ["an encoded @ in its place", "https://example.com%40evil.test/"],
    ["a fragment", "https://example.com/#a"],
    ["an empty fragment", "https://example.com/#"],
    ["a space", "https://example.com/a b"],
    ["a line break", "https://example.com/\n"],
    ["a line break inside", "https://exa\nmple.com/"],
    ["a tab", "https://example.com/\t"],
    ["NUL", "https://example.com/\0"],
    ["letters outside ASCII", "https://bücher.example/"],
    ["port 0", "https://example.com:0/"],
    ["a port above 65535", "https://example.com:65536/"],
    ["a trailing dot", "https://example.com./"],
    ["relative", "/hook"]
  ])("must not be with %s: %j", (_, url) => expect(isAccepted(url)).toBe(false))

  it.each([
    ["https://bücher.example/", "international_name"],
    ["https://例え.テスト/hook", "international_name"],
    ["https://example.com./", "trailing_dot"],
    ["https://example.com.:8443/hook", "trailing_dot"],
    ["https://example.com/{id}", "characters"],
    ["https://example.com/?a={b}", "characters"],
    ["https://example.com/a b", "characters"],
    ["https://example.com/é", "characters"],
    ["https://example.com/#a", "invalid"],
    ["https://user@bücher.example/", "invalid"],
    ["http://example.com/", "invalid"]
  ])("%s is refused because of %s", (url, problem) => {
    expect(CallbackUrl.parse(url, [])).toEqual(Either.left(problem))
  })

  it("has at most 255 characters (requirements §8)", () => {
    const url = (length: number) => "https://example.com/".padEnd(length, "a")
    expect([255, 256].map((length) => isAccepted(url(length)))).toEqual([true, false])
  })

  it("may be http only if the allow list may permit its host", () => {
    const urls = [
      "http://127.0.0.1:3000/",
      "http://[::1]/",
      "http://0177.1/",
      "http://localhost/",
      "http://dev.example/"
    ]
    expect(urls.map((url) => isAccepted(url, loopback))).toEqual([true, true, true, true, true])
    expect(urls.map((url) => isAccepted(url))).toEqual([false, false, false, false, false])
    expect(["http://10.0.0.1/", "http://8.8.8.8/", "http://[fd00::1]/"].map((url) => isAccepted(url, loopback)))
      .toEqual([false, false, false])
  })

  it("keeps its own query, to which parameters are appended", () => {
    const target = (url: string) =>
      CallbackUrl.withQuery(Either.getOrThrow(CallbackUrl.parse(url, [])).target, { "hub.mode": "a b+c&d=é/\"" })
    const appended = "hub.mode=a%20b%2Bc%26d%3D%C3%A9%2F%22"
    expect(target("https://example.com")).toBe(`/?${appended}`)
    expect(target("https://example.com/h")).toBe(`/h?${appended}`)
    expect(target("https://example.com/h?")).toBe(`/h?${appended}`)
    expect(target("https://example.com/h?a=1&b")).toBe(`/h?a=1&b&${appended}`)
  })
})
