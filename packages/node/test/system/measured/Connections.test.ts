/** One connection, or a body in tiny pieces, cannot use more than its share of the service. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { obtainTokens } from "@startlist/test-support/Consent"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { take } from "../hostile/support/Load.ts"
import { makeMeasuredService, type MeasuredService } from "../hostile/support/MeasuredService.ts"
import { converse } from "../hostile/support/Wire.ts"

/** A callback that never answers, and counts requests. */
const silentCallback = async () => {
  let requests = 0
  const server = createServer(() => void requests++)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`,
    requests: () => requests,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

const platformToken = async (service: MeasuredService): Promise<string> => {
  const platform = await createUser(service, "platform")
  return (await obtainTokens(service, await createApplication(service, platform), platform)).access_token
}

const open = ({ port }: MeasuredService): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    socket.on("error", () => {}).resume()
  })

/** Bytes of the heap once they are stable: sent data may still be in transit. */
const settled = async ({ measure }: MeasuredService): Promise<number> => {
  let last = (await measure()).heapUsed
  for (;;) {
    await setTimeout(300)
    const now = (await measure()).heapUsed
    if (Math.abs(now - last) < 50_000) return now
    last = now
  }
}

describe("one client", () => {
  it.scopedLive(
    "with 600 pipelined subscriptions to a callback that never answers causes no 503 for others",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ LOG_LEVEL: "info" })
        const callback = yield* Effect.acquireRelease(
          Effect.promise(silentCallback),
          ({ close }) => Effect.sync(close)
        )
        yield* Effect.promise(async () => {
          const token = await platformToken(service)
          const other = await platformToken(service)
          const body = JSON.stringify({ webhook_subscription: { callback_url: callback.url, verify_token: "v" } })
          const post = `POST /api/v1/webhook_subscription HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
          const socket = await open(service)
          socket.write(post.repeat(600))
          while (callback.requests() === 0) await new Promise(setImmediate)
          for (let i = 0; i < 50; i++) {
            const own = { method: "GET", path: "/api/v1/webhook_subscription", body: "" }
            const taken = await take(service.port, { ...own, headers: { authorization: `Bearer ${other}` } })
            expect(taken.status).toBe(404)
          }
          expect(callback.requests()).toBeLessThanOrEqual(2)
          // On other connections the same application is asked to wait.
          const again = await take(service.port, {
            method: "POST",
            path: "/api/v1/webhook_subscription",
            headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
            body
          })
          expect([again.status, Number(again.headers["retry-after"]) > 0]).toEqual([429, true])
          socket.destroy()
        })
      })
  )

  it.scopedLive(
    "with 2000 headers gets 431, so a proxy's X-Forwarded-For is not dropped and /metrics stays closed",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService()
        yield* Effect.promise(async () => {
          const junk = Array.from({ length: 2000 }, (_, i) => `x${i.toString(36)}:\r\n`).join("")
          for (const [headers, status] of [["", 401], [junk, 431]] as const) {
            const request = `GET /metrics HTTP/1.1\r\nHost: x\r\n${headers}X-Forwarded-For: 203.0.113.9\r\n` +
              "Connection: close\r\n\r\n"
            const { received } = await converse(service.port, { pieces: [Buffer.from(request)], cut: false })
            expect(received.toString("latin1", 0, 13)).toBe(`HTTP/1.1 ${status} `)
          }
        })
      })
  )
})

const head = "POST /oauth/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

/** Sends the beginning of a body in chunks of one byte on each of these connections. */
const sendChunks = async (service: MeasuredService, connections: number, chunks: number) => {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(service)))
  for (const socket of sockets) socket.write(head + "1\r\na\r\n".repeat(chunks))
  const heapUsed = await settled(service)
  for (const socket of sockets) socket.destroy()
  return heapUsed
}

describe("bodies", () => {
  it.scopedLive(
    "in a thousand chunks of one byte cost less than 50 KB each, and in thousands end in 400",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ LOG_LEVEL: "info" })
        yield* Effect.promise(async () => {
          await sendChunks(service, 20, 1000)
          const connections = 100
          const before = await settled(service)
          const after = await sendChunks(service, connections, 1000)
          // Most of it is the connection. One object for each chunk would be some 200 KB.
          expect((after - before) / connections).toBeLessThan(50_000)
          const { received } = await converse(service.port, {
            pieces: [Buffer.from(head + "1\r\na\r\n".repeat(16_000))],
            cut: false
          })
          expect(received.toString()).toMatch(/^HTTP\/1\.1 400 [^]*the body came in more than 1024 pieces/)
        })
      })
  )
})
