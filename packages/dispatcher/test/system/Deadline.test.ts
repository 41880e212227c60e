import { describe, expect, it } from "@effect/vitest"
import type { Callbacks } from "@startlist/core"
import { Duration, Effect, Fiber } from "effect"
import { dispatcher, listening, post, raw, responding, validation } from "../Receivers.ts"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as http from "node:http"
import * as net from "node:net"

// `measured/TwoSeconds` has the tests that need a quiet machine.
describe.concurrent("two seconds", () => {
  it.scopedLive("include the lookup of the name", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher({ resolve: () => new Promise(() => {}) })
      const [took, answer] = yield* Effect.timed(callbacks.deliver(post("https://hangs.example/")))
      expect(answer._tag).toBe("TimedOut")
      expect(Duration.toMillis(took)).toBeLessThan(3500)
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

  it.scopedLive("can be shortened by the caller", () =>
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
    it.scopedLive(`${name} frees the socket immediately`, () =>
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

  it.scopedLive("during the lookup of a name opens no connection later", () =>
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

it.scopedLive("a process that is paused until after its deadline sends nothing when it resumes", () =>
  Effect.gen(function*() {
    const other = yield* raw(() => {})
    let received = 0
    const receiver = yield* responding((_, response) => {
      received++
      response.end()
    })
    const callbacks = yield* dispatcher()
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => net.connect(Number(new URL(other.url).port), "127.0.0.1")),
      (socket) => Effect.sync(() => socket.destroy())
    )
    // This wakes the process, which is paused before it handles its connection, which has also become ready.
    const answer = yield* Effect.async<Callbacks.Answer>((resume) => {
      socket.once("connect", () => {
        const until = performance.now() + 300
        while (performance.now() < until);
      })
      resume(callbacks.deliver(post(receiver.url, { timeout: Duration.millis(200) })))
    })
    expect(answer._tag).toBe("TimedOut")
    const after = yield* callbacks.deliver(post(receiver.url))
    expect(after._tag).toBe("Answered")
    expect(received).toBe(1)
  }))

/** A port on 127.0.0.2 that answers no connection, as a distant or broken receiver does. */
const unanswering = Effect.gen(function*() {
  const code = `const server = require("node:net").createServer()
    server.listen({ port: 0, host: "127.0.0.2", backlog: 1 }, () => {
      require("node:fs").writeSync(1, String(server.address().port))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] })),
    (process) => Effect.sync(() => process.kill("SIGKILL"))
  )
  const [written] = yield* Effect.promise(() => once(child.stdout, "data"))
  const port = Number(String(written))
  // Connections that nobody accepts fill the queue. The system drops what comes after them.
  const connecting = Effect.acquireRelease(
    Effect.sync(() => net.connect(port, "127.0.0.2").on("error", () => {})),
    (socket) => Effect.sync(() => socket.destroy())
  )
  const isFull = Effect.gen(function*() {
    const socket = yield* connecting
    yield* Effect.sleep("100 millis")
    return socket.connecting
  })
  yield* Effect.repeat(isFull, { until: (full) => full })
  return port
})

describe("a name with several addresses", () => {
  it.scopedLive("gives each but the last more than half a second, and is then reached at the last", () =>
    Effect.gen(function*() {
      const port = yield* unanswering
      let startedAt = 0
      let afterMs = 0
      const receiver = http.createServer((_, response) => {
        afterMs = performance.now() - startedAt
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => once(receiver.listen(port, "127.0.0.1"), "listening")),
        () => Effect.sync(() => receiver.close())
      )
      const callbacks = yield* dispatcher({ resolve: () => Promise.resolve(["127.0.0.2", "127.0.0.1"]) })
      startedAt = performance.now()
      expect(yield* callbacks.deliver(post(`http://receiver.test:${port}/`))).toMatchObject({ _tag: "Answered" })
      expect(afterMs).toBeGreaterThan(500)
    }))
})
