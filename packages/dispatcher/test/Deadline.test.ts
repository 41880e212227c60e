import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { dispatcher, listening, post, raw, responding, validation } from "./Receivers.ts"
import * as http from "node:http"
import * as net from "node:net"

const answeringAfter = (millis: number) =>
  responding((_, response) => {
    setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"), millis)
  })

// Real time is the subject here: two seconds, from the start of the attempt (requirements §8).
describe.concurrent("two seconds", () => {
  it.scopedLive("are enough for a 200 after 1.9 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* answeringAfter(1900)
      const answers = yield* Effect.all([
        callbacks.deliver(post(receiver.url)),
        callbacks.validate(validation(receiver.url))
      ], { concurrency: 2 })
      for (const answer of answers) {
        expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "{}" })
        const afterMs = answer._tag === "Answered" ? answer.afterMs : NaN
        expect(afterMs).toBeGreaterThanOrEqual(1890)
        expect(afterMs).toBeLessThanOrEqual(2000)
      }
    }))

  it.scopedLive("are too little for a 200 after 2.1 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* answeringAfter(2100)
      const answers = yield* Effect.all([
        callbacks.deliver(post(receiver.url)),
        callbacks.validate(validation(receiver.url))
      ], { concurrency: 2 })
      expect(answers.map(({ _tag }) => _tag)).toEqual(["TimedOut", "TimedOut"])
      yield* receiver.allClosed
    }))

  it.scopedLive("are not over for a delivery whose headers came in time and whose body does not end", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) => {
        setTimeout(() => response.writeHead(200).write("so far"), 1850)
      })
      const [took, answer] = yield* Effect.timed(callbacks.deliver(post(receiver.url)))
      expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "so far" })
      expect(Duration.toMillis(took)).toBeLessThan(2000)
      yield* receiver.allClosed
    }))

  it.scopedLive("include the name", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher({ resolve: () => new Promise(() => {}) })
      const [took, answer] = yield* Effect.timed(callbacks.deliver(post("https://hangs.example/")))
      expect(answer._tag).toBe("TimedOut")
      expect(Duration.toMillis(took)).toBeLessThan(2500)
    }))

  it.scopedLive("include the TLS handshake", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* listening(net.createServer((socket) => socket.resume()))
      const answers = yield* Effect.all([
        callbacks.deliver(post(`https://127.0.0.1:${receiver.port}/`)),
        callbacks.validate(validation(`https://127.0.0.1:${receiver.port}/`))
      ], { concurrency: 2 })
      expect(answers.map(({ _tag }) => _tag)).toEqual(["TimedOut", "TimedOut"])
      yield* receiver.allClosed
    }))

  it.scopedLive("can be fewer, as the caller wants", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* raw(() => {})
      const [took, answer] = yield* Effect.timed(
        callbacks.deliver(post(receiver.url, { timeout: Duration.millis(200) }))
      )
      expect(answer._tag).toBe("TimedOut")
      expect(Duration.toMillis(took)).toBeLessThan(1500)
    }))
})

describe.concurrent("interruption", () => {
  const hanging = {
    "of a request that waits for its answer": { server: http.createServer(() => {}), scheme: "http" },
    "of a TLS handshake": { server: net.createServer((socket) => socket.resume()), scheme: "https" }
  }
  for (const [name, { scheme, server }] of Object.entries(hanging)) {
    it.scopedLive(`${name} frees the socket at once`, () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const receiver = yield* listening(server)
        const connected = Effect.async<void>((resume) => {
          server.once("connection", () => resume(Effect.void))
        })
        const waiting = yield* Effect.fork(connected)
        const delivering = yield* Effect.fork(
          callbacks.deliver(post(`${scheme}://127.0.0.1:${receiver.port}/`, { timeout: Duration.minutes(1) }))
        )
        yield* Fiber.join(waiting)
        yield* Fiber.interrupt(delivering)
        yield* receiver.allClosed
      }))
  }

  it.scopedLive("of a name that is being resolved opens no connection later", () =>
    Effect.gen(function*() {
      let answer = (_: ReadonlyArray<string>) => {}
      const receiver = yield* responding((_, response) => response.end())
      const callbacks = yield* dispatcher({ resolve: () => new Promise((resolve) => (answer = resolve)) })
      const delivering = yield* Effect.fork(callbacks.deliver(post(`http://slow.example:${receiver.port}/`)))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(delivering)
      answer(["127.0.0.1"])
      const other = yield* dispatcher()
      yield* other.deliver(post(receiver.url))
      expect(receiver.accepted()).toBe(1)
    }))

  it.scopedLive("by the end of the dispatcher ends what is in flight", () =>
    Effect.gen(function*() {
      const server = http.createServer(() => {})
      const receiver = yield* listening(server)
      const arrived = yield* Effect.fork(Effect.async<void>((resume) => {
        server.once("request", () => resume(Effect.void))
      }))
      const delivering = yield* Effect.scoped(Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const delivering = yield* Effect.forkDaemon(callbacks.deliver(post(receiver.url)))
        yield* Fiber.join(arrived)
        return delivering
      }))
      yield* receiver.allClosed
      expect((yield* Fiber.join(delivering))._tag).toBe("Unreachable")
    }))
})
