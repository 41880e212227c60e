import { it } from "@effect/vitest"
import { Http, HttpConfig, NodeHttp } from "@startlist/http"
import { Deferred, Effect, Fiber, Logger, Queue, Runtime } from "effect"
import type { IncomingMessage } from "node:http"
import { connect } from "node:net"
import { describe, expect } from "vitest"
import { answering, echo, ok, raw, send } from "./support/BindingLaws.ts"
import { listen } from "./support/listen.ts"

const listener = (...made: Parameters<typeof NodeHttp.listener>) =>
  Effect.provide(NodeHttp.listener(...made), HttpConfig.layerLocal)

const serve = Effect.flatMap(listener(echo), listen)

describe("the node:http binding, in addition to the laws of all bindings", () => {
  it.scopedLive("uses the path of an absolute target", () =>
    Effect.gen(function*() {
      const port = yield* serve
      const targets = [["http://x.test/p?q", "/p", "q"], ["http://x.test", "/", ""], ["http://x.test?q", "/", "q"]]
      for (const [target, path, query] of targets) {
        const answer = yield* raw(port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        expect(answer).toContain(`"path":${JSON.stringify(path)},"query":${JSON.stringify(query)}`)
      }
    }))

  it.scopedLive("uses the target that the client sent, even if a framework has shortened it", () =>
    Effect.gen(function*() {
      const shortened = yield* listener(echo)
      const port = yield* listen((request, response) => {
        const cut: IncomingMessage & { originalUrl?: string } = request
        cut.originalUrl = request.url ?? ""
        cut.url = "/token"
        shortened(cut, response)
      })
      expect((yield* send(port, "/connect/token?a=b")).body).toContain("\"path\":\"/connect/token\",\"query\":\"a=b\"")
    }))

  it.scopedLive("does not wait for a body that other middleware has read, and logs the reason", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      const handle = yield* Effect.provide(listener(echo), Logger.replace(Logger.defaultLogger, logger))
      const port = yield* listen((request, response) => {
        request.resume().once("end", () => queueMicrotask(() => handle(request, response)))
      })
      expect((yield* send(port, "/", { method: "POST", body: "a=b" })).status).toBe(500)
      expect(logged).toEqual([expect.stringContaining("was read before")])
    }))
})

/** Sends a request and does not read the response. Resolves when the server has closed. */
const unread = (port: number, text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    socket.pause()
    socket.on("error", () => {}).once("close", () => resume(Effect.void))
  })

/** Sends everything before it reads. Returns everything that it receives. */
const sendFirst = (port: number, head: string, body: Uint8Array): Effect.Effect<string> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1")
    socket.pause().on("data", (chunk) => chunks.push(chunk))
    socket.write(head)
    socket.write(body, () => socket.resume())
    socket.on("error", () => socket.resume()).on(
      "close",
      () => resume(Effect.succeed(Buffer.concat(chunks).toString()))
    )
  })

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

describe("limits of the node:http binding", () => {
  it.scopedLive("a client that does not read its response in time is disconnected, with its waiting requests", () =>
    Effect.gen(function*() {
      const big: Http.Response = { status: 200, headers: {}, body: new Uint8Array(50_000_000) }
      const hurried = yield* listener(() => Effect.succeed(big), { timeout: "200 millis" })
      const closed = yield* Deferred.make<void>()
      const runtime = yield* Effect.runtime<never>()
      const port = yield* listen((request, response) => {
        request.socket.once("close", () => Runtime.runFork(runtime)(Deferred.succeed(closed, undefined)))
        hurried(request, response)
      })
      yield* Effect.fork(unread(port, get + get))
      yield* Deferred.await(closed)
    }))

  it.scopedLive("a request that takes too long is interrupted, unless it is untimed; a client that leaves ends both", () =>
    Effect.gen(function*() {
      const seen = yield* Queue.unbounded<string>()
      const handler: Http.Handler = ({ path, query }) =>
        Queue.offer(seen, `${path} begins`).pipe(
          Effect.zipRight(path === "/other" || query === "forever" ? Effect.never : Effect.sleep("200 millis")),
          Effect.as(ok("copied")),
          Effect.onInterrupt(() => Queue.offer(seen, `${path} is interrupted`))
        )
      const late: Array<string> = []
      const limited = yield* listener(handler, {
        limitOf: ({ path }) => path === "/copy" ? undefined : "50 millis",
        onLate: ({ path }, { status }, limit) => late.push(`${path} ${status} ${limit}`)
      })
      const port = yield* listen(limited)
      expect((yield* send(port, "/other")).status).toBe(503)
      expect((yield* send(port, "/copy")).body).toBe("copied")
      expect(late).toEqual(["/other 503 50"])
      const socket = connect(port, "127.0.0.1", () => socket.write("GET /copy?forever HTTP/1.1\r\nHost: x\r\n\r\n"))
      expect(Array.from(yield* Queue.takeN(seen, 4)))
        .toEqual(["/other begins", "/other is interrupted", "/copy begins", "/copy begins"])
      socket.destroy()
      expect(yield* Queue.take(seen)).toBe("/copy is interrupted")
    }))

  it.scopedLive("a request that cannot be interrupted is answered in time, and keeps its place until it ends", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const handler = answering(() => Effect.uninterruptible(Effect.as(Deferred.await(held), ok("done"))))
      const options = { capacity: 1, limitOf: () => "50 millis" as const }
      const port = yield* Effect.flatMap(listener(handler, options), listen)
      const late = yield* send(port, "/")
      expect([late.status, late.headers["retry-after"], late.headers["connection"]]).toEqual([503, "5", "close"])
      expect((yield* send(port, "/")).body).toBe("@startlist/http/Busy")
      yield* Deferred.succeed(held, undefined)
    }))

  it.scopedLive("a client that sends more than is read gets its whole response", () =>
    Effect.gen(function*() {
      const answer = "a".repeat(3_000_000)
      const port = yield* Effect.flatMap(listener(() => Effect.succeed(ok(answer))), listen)
      const length = Http.maxSwallowedBytes + 1
      for (const announced of [length + 1, 4 * length]) {
        const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${announced}\r\n\r\n`
        const received = yield* sendFirst(port, head, new Uint8Array(length))
        const [first = "", body] = received.split("\r\n\r\n")
        expect(first.toLowerCase()).toContain("connection: close")
        expect(body === answer).toBe(true)
      }
    }))

  it.scopedLive("requests over the capacity are refused until there is room again", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const started = yield* Deferred.make<void>()
      const slow = Deferred.succeed(started, undefined).pipe(
        Effect.zipRight(Deferred.await(held)),
        Effect.as(ok("served"))
      )
      const port = yield* Effect.flatMap(listener(answering(() => slow), { capacity: 1 }), listen)
      const first = yield* Effect.fork(send(port, "/"))
      yield* Deferred.await(started)
      const refused = yield* send(port, "/")
      expect([refused.status, refused.headers["retry-after"], refused.body]).toEqual([503, "1", "@startlist/http/Busy"])
      expect((yield* send(port, "/health")).status).toBe(200)
      yield* Deferred.succeed(held, undefined)
      expect((yield* Fiber.join(first)).body).toBe("served")
      expect((yield* send(port, "/")).body).toBe("served")
    }))

  it.scopedLive("requests of one connection are processed one at a time, in order", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const order: Array<string> = []
      const handler: Http.Handler = ({ path }) =>
        Effect.gen(function*() {
          most = Math.max(most, ++running)
          order.push(path)
          yield* Effect.yieldNow()
          running--
          return ok(path)
        })
      const port = yield* Effect.flatMap(listener(handler), listen)
      const paths = Array.from({ length: 600 }, (_, i) => `/${i}`)
      const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const answers = yield* raw(
        port,
        [...requests, "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"].join("")
      )
      expect(answers.match(/HTTP\/1\.1 200 /g)).toHaveLength(601)
      expect([order, most]).toEqual([[...paths, "/last"], 1])
    }))

  it.scopedLive("a connection that exceeds the number of waiting requests is closed, and no other", () =>
    Effect.gen(function*() {
      const port = yield* Effect.flatMap(
        listener(({ path }) => path === "/slow" ? Effect.never : Effect.succeed(ok(""))),
        listen
      )
      expect(yield* raw(port, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1100))).toBe("")
      // The requests that waited on the closed connection make room.
      const hundred = get.repeat(100) + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
      expect((yield* raw(port, hundred)).match(/HTTP\/1\.1 200 /g)).toHaveLength(101)
    }))
})
