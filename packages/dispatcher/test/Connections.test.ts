import { afterAll, describe, expect, it } from "@effect/vitest"
import { Signature } from "@startlist/dispatcher"
import { Duration, Effect, Option, Redacted } from "effect"
import type * as http from "node:http"
import type * as net from "node:net"
import { Webhook } from "standardwebhooks"
import { vi } from "vitest"
import { dispatcher, listening, post, responding, secret, validation, watchProcess } from "./Receivers.ts"
import * as tcp from "node:net"

const troubles = watchProcess()
afterAll(() => expect(troubles).toEqual([]))

describe.concurrent("a request", () => {
  it.scopedLive("of a delivery is a signed POST of exactly the given bytes", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher({ userAgent: "Tests/1" })
      const seen: Array<[http.IncomingMessage, string]> = []
      const receiver = yield* responding((request, response, body) => {
        seen.push([request, body])
        response.end()
      })
      const sent = post(`${receiver.url}?a=1&b`, { body: `{"comment":"é ✓ \\u0000"}` })
      yield* callbacks.deliver(sent)
      expect(seen.map(([{ headers, method, url }, body]) => ({ method, url, body, headers }))).toEqual([{
        method: "POST",
        url: "/hook?a=1&b",
        body: sent.body,
        headers: {
          host: `127.0.0.1:${receiver.port}`,
          connection: "keep-alive",
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(sent.body)),
          "user-agent": "Tests/1",
          "webhook-id": sent.id,
          "webhook-timestamp": String(sent.timestamp),
          "webhook-signature": Signature.sign(sent, [Redacted.make(secret)]),
          "startlist-sequence": String(sent.sequence)
        }
      }])
      const headers = Object.fromEntries(
        Object.entries(seen[0]?.[0].headers ?? {}).map(([name, value]) => [name, String(value)])
      )
      expect(new Webhook(secret).verify(seen[0]?.[1] ?? "", headers)).toEqual(JSON.parse(sent.body))
    }))

  it.scopedLive("names the trace of its event only if that is allowed", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const receiver = yield* responding(({ headers }, response) => {
        seen.push(headers["traceparent"])
        response.end()
      })
      const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      for (const traceparent of [false, true]) {
        const callbacks = yield* dispatcher({ traceparent })
        yield* callbacks.deliver(post(receiver.url, { trace: Option.some(trace) }))
        yield* callbacks.deliver(post(receiver.url))
      }
      expect(seen).toEqual([undefined, undefined, trace, undefined])
    }))

  it.scopedLive("of a validation is a GET with the three hub parameters after the callback's own query", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const seen: Array<string> = []
      const receiver = yield* responding(({ headers, method, url }, response, body) => {
        seen.push(`${method} ${url} ${headers.accept} [${body}]`)
        const challenge = new URL(url ?? "", "http://x").searchParams.get("hub.challenge")
        response.setHeader("content-type", "application/json; charset=utf-8")
        response.end(JSON.stringify({ "hub.challenge": challenge }))
      })
      const answer = yield* callbacks.validate(validation(`${receiver.url}?a=1`))
      expect(seen).toEqual([
        "GET /hook?a=1&hub.mode=subscribe&hub.challenge=c-1&hub.verify_token=t%20o%2Bk%26n application/json []"
      ])
      expect(answer).toMatchObject({
        _tag: "Answered",
        status: 200,
        contentType: "application/json; charset=utf-8",
        body: `{"hub.challenge":"c-1"}`
      })
    }))

  it.scopedLive("ignores proxies in the environment", () =>
    Effect.gen(function*() {
      const proxy = yield* responding((_, response) => response.writeHead(418).end())
      const variables = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of variables) process.env[name] = `http://127.0.0.1:${proxy.port}`
        }),
        () =>
          Effect.sync(() => {
            for (const name of variables) delete process.env[name]
          })
      )
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => response.end())
      expect(yield* callbacks.deliver(post(receiver.url))).toMatchObject({ status: 200 })
      expect(proxy.accepted()).toBe(0)
    }))

  it.scopedLive("that cannot be written also has an outcome, and is not a defect", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => response.end())
      expect((yield* callbacks.deliver(post(receiver.url, { id: "evt\r\nx: y" })))._tag).toBe("Unreachable")
      expect((yield* callbacks.validate(validation(receiver.url, { verifyToken: Redacted.make("\ud800") })))._tag)
        .toBe("Answered")
    }))
})

describe.concurrent("a connection", () => {
  it.scopedLive("is used again by the next request, for validations and deliveries", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => response.end("{}"))
      yield* callbacks.validate(validation(receiver.url))
      for (let n = 0; n < 20; n++) yield* callbacks.deliver(post(receiver.url))
      expect(receiver.accepted()).toBe(1)
    }))

  it.scopedLive("serves one request at a time, so that a slow one does not delay others", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      let first = true
      const receiver = yield* responding((_, response) => {
        if (!first) response.end()
        first = false
      })
      const answers = yield* Effect.forEach(Array.from({ length: 10 }), () => callbacks.deliver(post(receiver.url)), {
        concurrency: "unbounded"
      })
      expect(
        answers.map(({ _tag }) => _tag).sort()
      ).toEqual([...Array(9).fill("Answered"), "TimedOut"])
    }))

  it.scopedLive("that the receiver closed between requests is replaced, and no attempt is lost", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      let served = 0
      const receiver = yield* responding(({ socket }, response) => {
        served++
        // The connection closes although the header is keep-alive.
        response.end("ok", () => socket.end())
      })
      for (let n = 0; n < 20; n++) {
        expect(yield* callbacks.deliver(post(receiver.url))).toMatchObject({ _tag: "Answered", status: 200 })
        yield* receiver.allClosed
      }
      expect(served).toBe(20)
    }))

  it.scopedLive("that the receiver closes when the next request arrives is reported, and the request is not repeated", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      let requests = 0
      const receiver = yield* responding(({ socket }, response) => {
        requests++
        if (requests === 1) response.end()
        else socket.destroy()
      })
      expect((yield* callbacks.deliver(post(receiver.url)))._tag).toBe("Answered")
      expect((yield* callbacks.deliver(post(receiver.url)))._tag).toBe("Unreachable")
      expect([requests, receiver.accepted()]).toEqual([2, 1])
    }))

  it.scopedLive("that the receiver closes at any moment gives each attempt an outcome, and sends none twice", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const seen: Array<string> = []
      let turn = 0
      const receiver = yield* responding(({ headers, socket }, response) => {
        seen.push(String(headers["webhook-id"]))
        const moment = turn++ % 4
        response.end()
        if (moment === 0) setImmediate(() => socket.destroy())
        if (moment === 1) response.once("finish", () => socket.end())
        if (moment === 2) process.nextTick(() => socket.resetAndDestroy())
      })
      const ids = Array.from({ length: 400 }, (_, n) => `evt_${n}`)
      const answers = yield* Effect.forEach(ids, (id) => callbacks.deliver(post(receiver.url, { id })), {
        concurrency: 4
      })
      for (const { _tag } of answers) expect(["Answered", "Unreachable"]).toContain(_tag)
      expect(new Set(seen).size).toBe(seen.length)
      const acknowledged = ids.filter((_, n) => answers[n]?._tag === "Answered")
      expect(seen).toEqual(expect.arrayContaining(acknowledged))
      expect(acknowledged.length).toBeGreaterThan(100)
    }))

  it.scopedLive("that receives unexpected bytes is not used again", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
      const receiver = yield* listening(tcp.createServer((socket: net.Socket) => {
        socket.on("data", () => socket.write(`${answer}ok${answer}no`))
      }))
      for (let n = 0; n < 5; n++) {
        expect(yield* callbacks.deliver(post(receiver.url))).toMatchObject({ _tag: "Answered", body: "ok" })
        yield* receiver.allClosed
      }
    }))

  it.scopedLive("is closed when it is idle, even if the receiver would keep it", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => {
        response.setHeader("keep-alive", "timeout=60")
        response.end()
      })
      yield* callbacks.deliver(post(receiver.url))
      yield* receiver.allClosed
    }))

  it.scopedLive("that the receiver keeps for less than half a second is not used again", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => {
        response.setHeader("keep-alive", "timeout=0")
        response.end()
      })
      for (let n = 0; n < 3; n++) yield* callbacks.deliver(post(receiver.url))
      expect(receiver.accepted()).toBe(3)
    }))

  it.scopedLive("is closed with the dispatcher", () =>
    Effect.gen(function*() {
      const receiver = yield* responding((_, response) => response.end())
      yield* Effect.scoped(Effect.flatMap(dispatcher(), (callbacks) => callbacks.deliver(post(receiver.url))))
      yield* receiver.allClosed
    }))

  it.scopedLive("frees its resources: a thousand failed ones leave nothing open", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding(({ socket }) => socket.destroy())
      // A long timeout: on a busy machine, fifty at a time may take more than 2 s.
      const deliver = callbacks.deliver(post(receiver.url, { timeout: Duration.seconds(15) }))
      const answers = yield* Effect.replicateEffect(deliver, 1000, { concurrency: 50 })
      expect(new Set(answers.map(({ _tag }) => _tag))).toEqual(new Set(["Unreachable"]))
      expect(receiver.accepted()).toBe(1000)
      yield* receiver.allClosed
    }))
})

it.scopedLive("a connection in constant use is replaced after a minute, and the name is resolved again", () =>
  Effect.gen(function*() {
    const { now } = performance
    let passed = 0
    yield* Effect.acquireRelease(
      Effect.sync(() => vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + passed)),
      (spy) => Effect.sync(() => spy.mockRestore())
    )
    const receiver = yield* responding((_, response) => response.end())
    let asked = 0
    const callbacks = yield* dispatcher({
      resolve: () => {
        asked++
        return Promise.resolve(["127.0.0.1"])
      }
    })
    const deliver = callbacks.deliver(post(`http://moves.example:${receiver.port}/`))
    yield* deliver
    passed = 50_000
    yield* deliver
    expect([asked, receiver.accepted()]).toEqual([1, 1])
    passed = 61_000
    // This request still uses the old connection, which is then not kept.
    yield* deliver
    yield* deliver
    expect([asked, receiver.accepted()]).toEqual([2, 2])
  }))
