import { afterAll, afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import { AddressGuard, type Dispatcher, Resolver } from "@startlist/dispatcher"
import { Duration, Effect, Option } from "effect"
import * as net from "node:net"
import { dispatcher, loopback, post, responding, validation, watchProcess } from "./Receivers.ts"

const troubles = watchProcess()
afterAll(() => expect(troubles).toEqual([]))

/** Addresses to which sockets would connect, after their lookup. All tests here connect only to loopback. */
const dialled: Array<string> = []

const isTcp = (options: unknown): options is net.TcpSocketConnectOpts =>
  typeof options === "object" && options !== null && "host" in options

/** Replaces `Socket.connect`: looks the name up in the same way, records the result, and connects to loopback. */
const connect = net.Socket.prototype.connect
function recordingConnect(this: net.Socket, ...args: ReadonlyArray<unknown>): net.Socket {
  const options = [args[0]].flat()[0]
  if (!isTcp(options)) throw new Error("only TCP is expected here")
  const { host = "", lookup } = options
  const go = (addresses: ReadonlyArray<string>): void => {
    dialled.push(...addresses)
    if (addresses.every((address) => AddressGuard.isWithin(loopback, address))) Reflect.apply(connect, this, args)
    else this.destroy(Object.assign(new Error("recorded"), { code: "ECONNREFUSED" }))
  }
  if (net.isIP(host) !== 0 || lookup === undefined) go([host])
  else {
    lookup(host, { all: true }, (error, addresses) => {
      if (error !== null) return void this.destroy(error)
      options.lookup = (_, __, callback) => callback(null, addresses)
      go([addresses].flat().map((one) => typeof one === "string" ? one : one.address))
    })
  }
  return this
}

beforeEach(() => {
  dialled.length = 0
  Object.defineProperty(net.Socket.prototype, "connect", {
    value: recordingConnect,
    configurable: true,
    writable: true
  })
})

afterEach(() => {
  Object.defineProperty(net.Socket.prototype, "connect", { value: connect, configurable: true, writable: true })
})

const both = (url: string, options: Dispatcher.Options) =>
  Effect.gen(function*() {
    const callbacks = yield* dispatcher(options)
    return [yield* callbacks.deliver(post(url)), yield* callbacks.validate(validation(url))]
  })

const names = (...addresses: ReadonlyArray<string>): Resolver.Resolve => () => Promise.resolve(addresses)
const forbidden = { _tag: "Forbidden", detail: "the address of the callback may not be called" }
const failing = (code: string): Resolver.Resolve => () => Promise.reject(Object.assign(new Error(code), { code }))

describe("an address in the URL", () => {
  const bad = [
    "https://127.0.0.1/",
    "https://0177.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://168.63.129.16/",
    "https://0.0.0.0/",
    "https://255.255.255.255/",
    "https://224.0.0.1/",
    "https://[::]/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::8.8.8.8]/",
    "https://[64:ff9b::8.8.8.8]/",
    "https://[2002:808:808::1]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[fec0::1]/",
    "https://[fe80::1]/",
    "https://[fd00:ec2::254]/",
    "https://[ff02::1]/"
  ]
  it.scopedLive.each(bad)(
    "%s is forbidden without an allow list, and not dialled",
    (url) =>
      Effect.gen(function*() {
        expect(yield* both(url, { allow: [] })).toEqual([forbidden, forbidden])
        expect(dialled).toEqual([])
      })
  )

  it.scopedLive("is dialled if it is public", () =>
    Effect.gen(function*() {
      for (const url of ["https://8.8.8.8/", "https://[2606:4700::1111]/", "https://[::ffff:8.8.8.8]/"]) {
        const answers = yield* both(url, { allow: [] })
        expect(answers.map(({ _tag }) => _tag)).toEqual(["Unreachable", "Unreachable"])
      }
      expect(new Set(dialled)).toEqual(new Set(["8.8.8.8", "2606:4700::1111", "::ffff:808:808"]))
    }))

  it.scopedLive("is dialled if the allow list contains it, but no other address", () =>
    Effect.gen(function*() {
      const allow = [Option.getOrThrow(AddressGuard.parseBlock("10.1.0.0/16"))]
      expect((yield* both("http://10.1.0.1/", { allow })).map(({ _tag }) => _tag)).toEqual([
        "Unreachable",
        "Unreachable"
      ])
      expect(yield* both("https://10.2.0.1/", { allow })).toEqual([forbidden, forbidden])
      expect(new Set(dialled)).toEqual(new Set(["10.1.0.1"]))
    }))
})

describe("a URL that is not or no longer accepted", () => {
  it.scopedLive.each([
    "http://8.8.8.8/",
    "http://example.com/",
    "ftp://example.com/",
    "https://a@8.8.8.8/",
    "nonsense"
  ])(
    "%s is forbidden, and nothing is resolved or dialled",
    (url) =>
      Effect.gen(function*() {
        let asked = 0
        const resolve = () => {
          asked++
          return Promise.resolve(["8.8.8.8"])
        }
        const answers = yield* both(url, { allow: [], resolve })
        expect(answers.map(({ _tag }) => _tag)).toEqual(["Forbidden", "Forbidden"])
        expect([asked, dialled]).toEqual([0, []])
      })
  )
})

describe("a name", () => {
  it.scopedLive("that has a private address is forbidden", () =>
    Effect.gen(function*() {
      for (const address of ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"]) {
        const resolve = names(address)
        expect(yield* both("https://private.example/", { allow: [], resolve })).toEqual([forbidden, forbidden])
      }
      expect(dialled).toEqual([])
    }))

  it.scopedLive("that has a good and a bad address is forbidden, in any order", () =>
    Effect.gen(function*() {
      for (
        const addresses of [["8.8.8.8", "10.0.0.1"], ["::1", "2606:4700::1111"], ["8.8.8.8", "1.1.1.1", "0.0.0.0"]]
      ) {
        const resolve = names(...addresses)
        expect(yield* both("https://mixed.example/", { allow: [], resolve })).toEqual([forbidden, forbidden])
      }
      expect(dialled).toEqual([])
    }))

  it.scopedLive("that resolves to an invalid address is forbidden", () =>
    Effect.gen(function*() {
      for (const answer of ["other.example", "0177.0.0.1", "", "8.8.8.8."]) {
        expect(yield* both("https://odd.example/", { allow: [], resolve: names(answer) })).toEqual([
          forbidden,
          forbidden
        ])
      }
      expect(dialled).toEqual([])
    }))

  it.scopedLive("may be called with http only at allowed addresses", () =>
    Effect.gen(function*() {
      expect(yield* both("http://public.example/", { resolve: names("8.8.8.8") })).toEqual([forbidden, forbidden])
      expect(dialled).toEqual([])
    }))

  it.scopedLive("whose addresses change between check and connect is dialled at the checked address", () =>
    Effect.gen(function*() {
      const answers = [["8.8.8.8"], ["127.0.0.1"], ["10.0.0.1"]]
      let asked = 0
      const callbacks = yield* dispatcher({ allow: [], resolve: () => Promise.resolve(answers[asked++] ?? []) })
      yield* callbacks.deliver(post("https://rebinding.example/"))
      expect([asked, dialled]).toEqual([1, ["8.8.8.8"]])
      expect(yield* callbacks.deliver(post("https://rebinding.example/"))).toEqual(forbidden)
      expect([asked, dialled]).toEqual([2, ["8.8.8.8"]])
    }))

  it.scopedLive("is resolved once per connection, and dialled at the resolved address", () =>
    Effect.gen(function*() {
      let asked = 0
      const receiver = yield* responding(({ headers }, response) => response.end(headers.host))
      const callbacks = yield* dispatcher({
        resolve: () => {
          asked++
          return Promise.resolve(["127.0.0.1"])
        }
      })
      const url = `http://hooks.example:${receiver.port}/`
      for (let n = 0; n < 3; n++) {
        expect(yield* callbacks.deliver(post(url))).toMatchObject({
          status: 200,
          body: `hooks.example:${receiver.port}`
        })
      }
      expect([asked, dialled]).toEqual([1, ["127.0.0.1"]])
    }))

  it.scopedLive.each([
    ["ENOTFOUND", "the name has no address"],
    ["ENODATA", "the name has no address"],
    ["ESERVFAIL", "the name could not be resolved"],
    ["ETIMEOUT", "the name could not be resolved"]
  ])("that fails with %s is unreachable: %s", ([code, detail]) =>
    Effect.gen(function*() {
      const answers = yield* both("https://broken.example/", { resolve: failing(code ?? "") })
      expect(answers).toEqual([{ _tag: "Unreachable", detail }, { _tag: "Unreachable", detail }])
    }))

  it.scopedLive("that hangs times out while another name is served", () =>
    Effect.gen(function*() {
      const receiver = yield* responding((_, response) => response.end())
      const resolve: Resolver.Resolve = (name) =>
        name === "hangs.example" ? new Promise(() => {}) : Promise.resolve(["127.0.0.1"])
      const callbacks = yield* dispatcher({ resolve })
      const [hanging, [took, good]] = yield* Effect.all([
        callbacks.deliver(post("https://hangs.example/")),
        Effect.timed(callbacks.deliver(post(`http://good.example:${receiver.port}/`)))
      ], { concurrency: 2 })
      expect([hanging._tag, good._tag]).toEqual(["TimedOut", "Answered"])
      expect(Duration.toMillis(took)).toBeLessThan(1500)
    }))

  it.scopedLive("localhost is loopback with any name server, and only if loopback is allowed", () =>
    Effect.gen(function*() {
      const receiver = yield* responding((_, response) => response.end())
      const resolve = names("8.8.8.8")
      const onlyIPv4 = loopback.slice(0, 1)
      const answers = yield* both(`http://localhost:${receiver.port}/`, { allow: onlyIPv4, resolve })
      expect(answers.map(({ _tag }) => _tag)).toEqual(["Answered", "Answered"])
      expect(yield* both("https://localhost/", { allow: [], resolve })).toEqual([forbidden, forbidden])
      expect(yield* both("https://a.localhost/", { allow: [], resolve })).toEqual([forbidden, forbidden])
      expect(new Set(dialled)).toEqual(new Set(["127.0.0.1"]))
    }))
})
