/** Slow clients, and clients with too many connections, are disconnected while others are served. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect, type Socket } from "node:net"
import { take } from "./hostile/support/Load.ts"
import { makeMeasuredService, type MeasuredService } from "./hostile/support/MeasuredService.ts"

/** Everything that a connection has received when the server closes it. */
const ended = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    socket.setEncoding("latin1").on("data", (chunk: string) => text += chunk)
    socket.on("error", () => {}).on("close", () => resolve(text))
  })

const open = ({ port }: MeasuredService): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
  })

const health = { method: "GET", path: "/healthz", headers: {}, body: "" }

const isServed = async (service: MeasuredService): Promise<boolean> =>
  (await take(service.port, health).catch(() => undefined))?.status === 200

describe("connections", () => {
  it.scopedLive(
    "that never finish their headers are all closed after the timeout, while others are served",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService()
        yield* Effect.promise(async () => {
          const began = Date.now()
          const slow = await Promise.all(Array.from({ length: 200 }, () => open(service)))
          const ends = Promise.all(slow.map(ended))
          for (const [i, socket] of slow.entries()) {
            if (i % 2 === 0) socket.write("POST /oauth/token HTTP/1.1\r\nHost: x\r\nX-Slow: ")
          }
          expect(await isServed(service)).toBe(true)
          const answers = await ends
          // Ten seconds, and one until the server checks; not the 30 seconds of Node's default.
          expect(Date.now() - began).toBeLessThan(25_000)
          expect(new Set(answers.map((answer) => answer.split("\r\n")[0]))).toEqual(
            new Set(["HTTP/1.1 408 Request Timeout"])
          )
        })
      })
  )

  it.scopedLive(
    "of one address may use a quarter of all connections; a closed one makes room for another",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ MAX_CONNECTIONS: "12", TRUSTED_PROXIES: "203.0.113.0/24" })
        yield* Effect.promise(async () => {
          const kept = await Promise.all([open(service), open(service), open(service)])
          const [first] = kept
          expect(await ended(await open(service))).toBe("")
          expect(await isServed(service)).toBe(false)
          first?.destroy()
          while (!await isServed(service));
          for (const socket of kept) socket.destroy()
        })
      })
  )

  it.scopedLive("of a trusted proxy are limited only by the total", () =>
    Effect.gen(function*() {
      const service = yield* makeMeasuredService({ MAX_CONNECTIONS: "12", TRUSTED_PROXIES: "127.0.0.0/8" })
      yield* Effect.promise(async () => {
        const kept = await Promise.all(Array.from({ length: 11 }, () => open(service)))
        expect(await isServed(service)).toBe(true)
        const last = await open(service)
        expect(await ended(await open(service))).toBe("")
        for (const socket of [...kept, last]) socket.destroy()
      })
    }))
})
