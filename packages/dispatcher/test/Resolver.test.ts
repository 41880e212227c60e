import { describe, expect, it } from "@effect/vitest"
import { Resolver } from "@startlist/dispatcher"
import { Duration, Effect } from "effect"
import * as dgram from "node:dgram"
import * as fs from "node:fs/promises"
import { dispatcher, post, responding } from "./Receivers.ts"

const types = { A: 1, AAAA: 28 }

/** What a name server of the test says about a name and type: records in binary, a failure, or nothing at all. */
type Zone = (
  name: string,
  type: number
) => { readonly rcode: number; readonly records?: ReadonlyArray<Buffer> } | undefined

/** A name server on loopback (RFC 1035 §4.1), as `address:port`. */
const nameServer = (zone: Zone) =>
  Effect.acquireRelease(
    Effect.async<dgram.Socket>((resume) => {
      const socket = dgram.createSocket("udp4")
      socket.on("message", (query, { address, port }) => {
        const end = query.indexOf(0, 12) + 5
        const labels: Array<string> = []
        for (let at = 12; query[at] !== 0; at += (query[at] ?? 0) + 1) {
          labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)))
        }
        const type = query.readUInt16BE(end - 4)
        const answer = zone(labels.join(".").toLowerCase(), type)
        if (answer === undefined) return
        const { rcode, records = [] } = answer
        const header = Buffer.alloc(12)
        query.copy(header, 0, 0, 2)
        header.writeUInt16BE(0x8180 | rcode, 2)
        header.writeUInt16BE(1, 4)
        header.writeUInt16BE(records.length, 6)
        const resources = records.map((record) => {
          const resource = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, record.length])
          return Buffer.concat([resource, record])
        })
        socket.send(Buffer.concat([header, query.subarray(12, end), ...resources]), port, address)
      })
      socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.async<void>((resume) => void socket.close(() => resume(Effect.void)))
  ).pipe(Effect.map((socket) => `127.0.0.1:${socket.address().port}`))

const ipv4 = Buffer.from([127, 0, 0, 1])
const ipv6 = Buffer.from([...Array<number>(15).fill(0), 1])
const none = { rcode: 0 }

const zone: Zone = (name, type) => {
  switch (name) {
    case "both.example":
      return { rcode: 0, records: [type === types.A ? ipv4 : ipv6] }
    case "v4.example":
      return type === types.A ? { rcode: 0, records: [ipv4, ipv4] } : none
    case "v6.example":
      return type === types.AAAA ? { rcode: 0, records: [ipv6] } : none
    case "silent-v6.example":
      return type === types.A ? { rcode: 0, records: [ipv4] } : undefined
    case "empty.example":
      return none
    case "failing.example":
      return { rcode: 2 }
    case "silent.example":
      return undefined
    default:
      return { rcode: 3 }
  }
}

const resolving = Effect.map(nameServer(zone), (server) => {
  const resolve = Resolver.make([server])
  return (name: string) => Effect.timed(Effect.either(Effect.tryPromise({ try: () => resolve(name), catch: (e) => e })))
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
      ["failing.example", "ESERVFAIL"]
    ] as const
  ) {
    it.scopedLive(`fails with ${code} for ${name}`, () =>
      Effect.gen(function*() {
        const [, failed] = yield* (yield* resolving)(name)
        expect(failed).toMatchObject({ _tag: "Left", left: { code } })
      }))
  }

  it.scopedLive("knows the names of the hosts file, and asks nobody for them", () =>
    Effect.gen(function*() {
      const hosts = yield* Effect.promise(() => fs.readFile("/etc/hosts", "utf8"))
      expect(hosts).toMatch(/^127\.0\.0\.1\s.*\blocalhost\b/m)
      let asked = 0
      const server = yield* nameServer(() => {
        asked++
        return none
      })
      expect(yield* Effect.promise(() => Resolver.make([server])("localhost"))).toContain("127.0.0.1")
      expect(asked).toBe(0)
    }))

  it.scopedLive("serves others while the servers of many names hang", () =>
    Effect.gen(function*() {
      const server = yield* nameServer(zone)
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
