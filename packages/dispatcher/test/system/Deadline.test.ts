import { describe, expect, it } from "@effect/vitest"
import type { Callbacks } from "@startlist/core"
import { Duration, Effect, Fiber } from "effect"
import { dispatcher, listening, post, raw, responding, validation } from "../Receivers.ts"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as http from "node:http"
import * as net from "node:net"

/** Responds a given time after the start of the attempt, which the test sets. The connection is part of that time. */
const answeringAfter = (millis: number, answer: (response: http.ServerResponse) => void) => {
  const attempt = { startedAt: 0 }
  return Effect.map(
    responding((_, response) => {
      setTimeout(answer, attempt.startedAt + millis - performance.now(), response)
    }),
    (receiver) => ({ ...receiver, attempt })
  )
}

const json = (response: http.ServerResponse) =>
  response.writeHead(200, { "content-type": "application/json" }).end("{}")

/**
 * Makes an attempt whose outcome depends on a tenth of a second. Repeats it if it began late, or if the machine paused
 * the process for half of that time.
 */
const undisturbed = <A>(from: number, attempt: { startedAt: number }, effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.gen(function*() {
    for (let n = 0; n < 10; n++) {
      attempt.startedAt = performance.now()
      let last = attempt.startedAt
      let longest = 0
      let late = 0
      setImmediate(() => late = performance.now() - attempt.startedAt)
      const tick = () => {
        const now = performance.now()
        if (now - attempt.startedAt > from) longest = Math.max(longest, now - last)
        last = now
      }
      const ticking = setInterval(tick, 5)
      const result = yield* effect
      clearInterval(ticking)
      tick()
      if (longest < 50 && late < 10) return result
    }
    return yield* Effect.dieMessage("this machine is too busy to tell 1.9 from 2.0 seconds, ten times in a row")
  })

const both = (callbacks: Callbacks.Callbacks.Service, url: string) =>
  Effect.all([callbacks.deliver(post(url)), callbacks.validate(validation(url))], { concurrency: 2 })

// These tests use real time: two seconds from the start of the attempt (requirements §8).
describe.concurrent("two seconds", () => {
  it.scopedLive("are enough for a 200 after 1.9 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const { attempt, url } = yield* answeringAfter(1900, json)
      for (const answer of yield* undisturbed(1880, attempt, both(callbacks, url))) {
        expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "{}" })
        const afterMs = answer._tag === "Answered" ? answer.afterMs : NaN
        expect(afterMs).toBeGreaterThanOrEqual(1890)
        expect(afterMs).toBeLessThanOrEqual(2000)
      }
    }))

  it.scopedLive("are too little for a 200 after 2.1 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const { allClosed, attempt, url } = yield* answeringAfter(2100, json)
      attempt.startedAt = performance.now()
      expect((yield* both(callbacks, url)).map(({ _tag }) => _tag)).toEqual(["TimedOut", "TimedOut"])
      yield* allClosed
    }))

  it.scopedLive(
    "do not limit a delivery whose headers arrived in time and whose body does not end",
    () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const { allClosed, attempt, url } = yield* answeringAfter(1850, (response) => {
          response.writeHead(200).write("so far")
        })
        const [took, answer] = yield* undisturbed(1830, attempt, Effect.timed(callbacks.deliver(post(url))))
        expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "so far" })
        expect(Duration.toMillis(took)).toBeLessThan(2000)
        yield* allClosed
      })
  )

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
        json(response)
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
