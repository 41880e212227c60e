import { describe, expect, it } from "@effect/vitest"
import { Resolver } from "@startlist/dispatcher"
import { Duration, Effect } from "effect"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import { makeNameServer, type Zone } from "@startlist/test-support/NameServer"
import { dispatcher, post, responding } from "./Receivers.ts"

const zone: Zone = (name, family) => {
  switch (name) {
    case "both.example":
      return ["127.0.0.1", "::1"]
    case "v4.example":
      return ["127.0.0.1", "127.0.0.1"]
    case "v6.example":
      return ["::1"]
    case "silent-v6.example":
      return family === 4 ? ["127.0.0.1"] : undefined
    case "empty.example":
      return []
    case "alias.example":
      return ["cname:empty.example"]
    case "loop.example":
      return ["cname:pool.example", "cname:loop.example"]
    case "self.example":
      return ["cname:self.example"]
    case "failing.example":
      return { rcode: 2 }
    case "silent.example":
      return undefined
    default:
      return { rcode: 3 }
  }
}

const resolving = Effect.map(makeNameServer(zone), (server) => {
  const resolve = Resolver.make([server])
  return (name: string) => Effect.timed(Effect.either(Effect.tryPromise(() => resolve(name))))
})

describe.concurrent("the resolver", () => {
  for (
    const [name, addresses] of [
      ["both.example", ["127.0.0.1", "::1"]],
      ["v4.example", ["127.0.0.1", "127.0.0.1"]],
      ["v6.example", ["::1"]],
      ["silent-v6.example", ["127.0.0.1"]]
    ] as const
  ) {
    it.scopedLive(`finds ${addresses.join(" and ")} for ${name}`, () =>
      Effect.gen(function*() {
        const [took, found] = yield* (yield* resolving)(name)
        expect([...(found._tag === "Right" ? found.right : [])].sort()).toEqual(addresses)
        expect(Duration.toMillis(took)).toBeLessThan(1500)
      }))
  }

  for (
    const [name, code] of [
      ["unknown.example", "ENOTFOUND"],
      ["empty.example", "ENODATA"],
      ["alias.example", "ENODATA"],
      ["loop.example", "ENODATA"],
      ["self.example", "ENODATA"],
      ["failing.example", "ESERVFAIL"]
    ] as const
  ) {
    it.scopedLive(`fails with ${code} for ${name}`, () =>
      Effect.gen(function*() {
        const [, failed] = yield* (yield* resolving)(name)
        expect(failed).toMatchObject({ _tag: "Left", left: { cause: { code } } })
      }))
  }

  it.scopedLive("a name without an address fails only its own deliveries, for any kind of empty answer", () =>
    Effect.gen(function*() {
      const resolve = Resolver.make([yield* makeNameServer(zone)])
      const callbacks = yield* dispatcher({ resolve })
      for (const name of ["empty.example", "alias.example", "loop.example", "self.example", "unknown.example"]) {
        for (const scheme of ["http", "https"]) {
          const answer = yield* callbacks.deliver(post(`${scheme}://${name}:1/`))
          expect(answer, name).toEqual({ _tag: "Unreachable", detail: "the name has no address" })
        }
      }
    }))

  it.scopedLive("resolves names in the hosts file without name servers", () =>
    Effect.gen(function*() {
      const hosts = yield* Effect.promise(() => fs.readFile("/etc/hosts", "utf8"))
      expect(hosts).toMatch(/^127\.0\.0\.1\s.*\blocalhost\b/m)
      let asked = 0
      const server = yield* makeNameServer(() => {
        asked++
        return []
      })
      expect(yield* Effect.promise(() => Resolver.make([server])("localhost"))).toContain("127.0.0.1")
      expect(asked).toBe(0)
    }))

  it.scopedLive("reads the hosts file and the name servers again when they change", () =>
    Effect.gen(function*() {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => fs.mkdtemp(`${os.tmpdir()}/resolver-`)),
        (path) => Effect.promise(() => fs.rm(path, { recursive: true }))
      )
      const files = { hosts: `${folder}/hosts`, resolv: `${folder}/resolv.conf` }
      const write = (path: string, text: string) => Effect.promise(() => fs.writeFile(path, text))
      const first = yield* makeNameServer((_, family) => family === 4 ? ["192.0.2.1"] : [])
      const second = yield* makeNameServer((_, family) => family === 4 ? ["192.0.2.22"] : [])
      yield* write(files.hosts, "192.0.2.3 one.example # a comment\n")
      yield* write(files.resolv, `search example\nnameserver ${first}\n`)
      const resolve = Resolver.make([], files)
      const both = Effect.promise(() => Promise.all(["one.example", "other.example"].map((name) => resolve(name))))
      expect(yield* both).toEqual([["192.0.2.3"], ["192.0.2.1"]])
      yield* write(files.hosts, "192.0.2.44 one.example\n")
      yield* write(files.resolv, `nameserver ${second}\n# changed\n`)
      expect(yield* both).toEqual([["192.0.2.44"], ["192.0.2.22"]])
      yield* Effect.promise(() => fs.rm(files.hosts))
      expect(yield* both).toEqual([["192.0.2.22"], ["192.0.2.22"]])
    }))

  it.scopedLive("resolves other names while the servers of many names hang", () =>
    Effect.gen(function*() {
      const server = yield* makeNameServer(zone)
      const callbacks = yield* dispatcher({ resolve: Resolver.make([server]) })
      const receiver = yield* responding((_, response) => response.end())
      const deliver = (name: string) => Effect.timed(callbacks.deliver(post(`http://${name}:${receiver.port}/`)))
      const [hanging, good] = yield* Effect.all([
        Effect.forEach(Array.from({ length: 50 }), () => deliver("silent.example"), { concurrency: "unbounded" }),
        Effect.forEach(Array.from({ length: 5 }), () => deliver("v4.example"))
      ], { concurrency: 2 })
      expect(new Set(hanging.map(([, answer]) => answer._tag))).not.toContain("Answered")
      for (const [took, answer] of good) {
        expect(answer).toMatchObject({ _tag: "Answered", status: 200 })
        expect(Duration.toMillis(took)).toBeLessThan(1500)
      }
    }))
})
