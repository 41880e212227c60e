import { afterAll, describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Option, type Scope } from "effect"
import * as net from "node:net"
import * as zlib from "node:zlib"
import {
  dispatcher,
  expectAnswered,
  flood,
  listening,
  ok,
  post,
  raw,
  type Receiver,
  responding,
  validation,
  watchProcess
} from "./Receivers.ts"

const troubles = watchProcess()

afterAll(() => expect(troubles).toEqual([]))

/**
 * Delivers to a hostile receiver and to a good one at the same time. The good one gets its event promptly. After the
 * attempt, no connection to the hostile one is open.
 */
const delivered = (hostile: Effect.Effect<Receiver, never, Scope.Scope>) =>
  Effect.gen(function*() {
    const callbacks = yield* dispatcher()
    const bad = yield* hostile
    const good = yield* responding((_, response) => response.end("ok"))
    const [[took, answer], [tookGood, answerGood]] = yield* Effect.all([
      Effect.timed(callbacks.deliver(post(bad.url))),
      Effect.timed(callbacks.deliver(post(good.url)))
    ], { concurrency: "unbounded" })
    expect(answerGood).toMatchObject({ _tag: "Answered", status: 200, body: "ok" })
    expect(Duration.toMillis(tookGood)).toBeLessThan(1500)
    yield* bad.allClosed
    return { answer, took: Duration.toMillis(took), accepted: bad.accepted() }
  })

describe.concurrent("a delivery to a receiver that", () => {
  const never: Record<string, (socket: net.Socket) => void> = {
    "never answers": () => {},
    "sends half a status line": (socket) => socket.write("HTTP/1.1 20"),
    "drips headers, a byte a second": (socket) => {
      const bytes = [...ok]
      const drip = setInterval(() => socket.write(bytes.shift() ?? "x"), 1000)
      socket.on("close", () => clearInterval(drip))
    },
    "drips headers, a byte every ten milliseconds": (socket) => {
      const drip = setInterval(() => socket.write("X"), 10)
      socket.write(`${ok}X-Long: `)
      socket.on("close", () => clearInterval(drip))
    }
  }
  for (const [name, respond] of Object.entries(never)) {
    it.scopedLive(`${name} times out at the deadline`, () =>
      Effect.gen(function*() {
        const { answer, took } = yield* delivered(raw(respond))
        expect(answer._tag).toBe("TimedOut")
        expect(took).toBeGreaterThanOrEqual(1990)
        expect(took).toBeLessThan(3500)
      }))
  }

  const closed = "the connection was closed before the answer was complete"
  const invalid = "the answer is not valid HTTP"
  const tooLarge = "the headers of the answer are too large"
  const tooMany = "too many interim answers (1xx)"
  const status = (line: string) => (socket: net.Socket) => socket.write(`HTTP/1.1 ${line}\r\nContent-Length: 0\r\n\r\n`)
  const broken: Record<string, readonly [detail: string, respond: (socket: net.Socket) => void]> = {
    "closes after the request": [closed, (socket) => socket.end()],
    "resets after the request": [closed, (socket) => socket.resetAndDestroy()],
    "closes within the headers": [closed, (socket) => socket.end(ok)],
    "speaks no HTTP": [invalid, (socket) => socket.write("SSH-2.0-OpenSSH_9.6\r\n")],
    "answers with binary": [invalid, (socket) => socket.write(Buffer.alloc(512, 0x15))],
    "answers with HTTP/2": [invalid, (socket) => socket.write("HTTP/2 200\r\n\r\n")],
    "answers with an invalid status": [invalid, status("abc OK")],
    "answers with status 000": [invalid, status("000 x")],
    "answers with status 099": [invalid, status("099 x")],
    "answers with a status of two digits": [invalid, status("20 OK")],
    "answers with a status of four digits": [invalid, status("2000 OK")],
    "answers with a negative status": [invalid, status("-200 OK")],
    "has a header without a name": [invalid, (socket) => socket.write(`${ok}: x\r\n\r\n`)],
    "has a header without a colon": [invalid, (socket) => socket.write(`${ok}x\r\n\r\n`)],
    "has a header with NUL": [invalid, (socket) => socket.write(`${ok}X: a\0b\r\n\r\n`)],
    "ends its lines without CR": [invalid, (socket) => socket.write("HTTP/1.1 200 OK\n\n")],
    "has a length that is no number": [invalid, (socket) => socket.write(`${ok}Content-Length: -1\r\n\r\n`)],
    "has two lengths": [invalid, (socket) => socket.write(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`)],
    "has a length and chunks": [
      invalid,
      (socket) => socket.write(`${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)
    ],
    "floods with headers": [tooLarge, (socket) => {
      socket.write(ok)
      flood(socket, "X-Header: value\r\n".repeat(1000))
    }],
    "sends one endless header": [tooLarge, (socket) => {
      socket.write(`${ok}X: `)
      flood(socket, "x".repeat(65_536))
    }],
    "sends an endless reason phrase": [tooLarge, (socket) => {
      socket.write("HTTP/1.1 200 ")
      flood(socket, "x".repeat(65_536))
    }],
    "floods with 103": [
      tooMany,
      (socket) => flood(socket, "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n".repeat(1000))
    ],
    "floods with 100": [tooMany, (socket) => flood(socket, "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000))],
    "switches protocols": [
      invalid,
      (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
    ]
  }
  for (const [name, [detail, respond]] of Object.entries(broken)) {
    it.scopedLive(`${name} is unreachable immediately, and gets one request`, () =>
      Effect.gen(function*() {
        const { accepted, answer, took } = yield* delivered(raw(respond))
        expect(answer).toEqual({ _tag: "Unreachable", detail })
        expect(took).toBeLessThan(1900)
        expect(accepted).toBe(1)
      }))
  }

  for (const interim of [100, 102, 103, 104, 199]) {
    for (const count of [1, 3]) {
      it.scopedLive(`sends ${interim} ${count} times before its answer has acknowledged`, () =>
        Effect.gen(function*() {
          const skipped = `HTTP/1.1 ${interim} x\r\nLink: <a>\r\n\r\n`.repeat(count)
          const receiver = yield* raw((socket) =>
            socket.write(`${skipped}${ok}Connection: close\r\nContent-Length: 2\r\n\r\n{}`)
          )
          const callbacks = yield* dispatcher()
          expect(expectAnswered(yield* callbacks.deliver(post(receiver.url)), 200).body).toBe("{}")
          expect(expectAnswered(yield* callbacks.validate(validation(receiver.url)), 200).body).toBe("{}")
        }))
    }
  }

  it.scopedLive("accepts and closes is unreachable", () =>
    Effect.gen(function*() {
      const { answer } = yield* delivered(listening(net.createServer((socket) => socket.destroy())))
      expect(answer).toEqual({ _tag: "Unreachable", detail: closed })
    }))

  it.scopedLive("does not listen is unreachable", () =>
    Effect.gen(function*() {
      const gone = yield* Effect.scoped(raw(() => {}))
      const callbacks = yield* dispatcher()
      expect(yield* callbacks.deliver(post(gone.url))).toEqual({ _tag: "Unreachable", detail: "connection refused" })
    }))

  const endless: Record<string, (socket: net.Socket) => void> = {
    "sends 200 with an endless body": (socket) => {
      socket.write(`${ok}\r\n`)
      flood(socket, "x".repeat(65_536))
    },
    "sends 200 with endless chunks": (socket) => {
      socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n`)
      flood(socket, `10000\r\n${"x".repeat(65_536)}\r\n`)
    },
    "sends 200 with an endless chunk extension": (socket) => {
      socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n1;`)
      flood(socket, "x".repeat(65_536))
    },
    "promises 10 GB": (socket) => socket.write(`${ok}Content-Length: 10000000000\r\n\r\nx`),
    "sends 10 GB": (socket) => {
      socket.write(`${ok}Content-Length: 10000000000\r\n\r\n`)
      flood(socket, "x".repeat(65_536))
    },
    "drips its body": (socket) => {
      socket.write(`${ok}\r\n`)
      const drip = setInterval(() => socket.write("x"), 100)
      socket.on("close", () => clearInterval(drip))
    },
    "closes within its body": (socket) => socket.end(`${ok}Content-Length: 100\r\n\r\nx`)
  }
  for (const [name, respond] of Object.entries(endless)) {
    it.scopedLive(`${name} has acknowledged, without waiting for its body`, () =>
      Effect.gen(function*() {
        const { answer, took } = yield* delivered(raw(respond))
        const { afterMs, body } = expectAnswered(answer, 200)
        expect(body).toMatch(/^x{0,200}$/)
        expect(afterMs).toBeLessThan(1500)
        expect(took).toBeLessThan(1900)
      }))
  }

  it.scopedLive("sends a gzip bomb has acknowledged, and nothing is decompressed", () =>
    Effect.gen(function*() {
      const bomb = zlib.gzipSync(Buffer.alloc(8 * 1024 * 1024))
      const { answer } = yield* delivered(
        raw((socket) => {
          socket.write(`${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
          socket.end(bomb)
        })
      )
      expect(expectAnswered(answer, 200).body).toBe("")
    }))

  for (const status of [201, 202, 204, 304, 400, 404, 410, 429, 500, 503, 600, 999]) {
    it.scopedLive(`answers ${status} is reported with that status`, () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const receiver = yield* responding((_, response) => response.writeHead(status).end())
        expectAnswered(yield* callbacks.deliver(post(receiver.url)), status)
        expectAnswered(yield* callbacks.validate(validation(receiver.url)), status)
      }))
  }

  for (const status of [301, 302, 303, 307, 308]) {
    it.scopedLive(`redirects with ${status} to a metadata address or to itself is not followed`, () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        for (const location of ["http://169.254.169.254/latest/meta-data/", "/elsewhere"]) {
          const paths: Array<string | undefined> = []
          const receiver = yield* responding(({ url }, response) => {
            paths.push(url?.split("?")[0])
            response.writeHead(status, { location }).end()
          })
          expectAnswered(yield* callbacks.deliver(post(receiver.url)), status)
          expectAnswered(yield* callbacks.validate(validation(receiver.url)), status)
          expect(paths).toEqual(["/hook", "/hook"])
        }
      }))
  }

  const retryAfter: ReadonlyArray<readonly [value: string, seconds: Option.Option<number>]> = [
    ["30", Option.some(30)],
    ["99999999999", Option.some(86_400)],
    ["-5", Option.none()],
    ["soon", Option.none()]
  ]
  for (const [value, seconds] of retryAfter) {
    it.scopedLive(`answers 429 with Retry-After ${value} delays by ${Option.getOrElse(seconds, () => "no")} seconds`, () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const receiver = yield* responding((_, response) => response.writeHead(429, { "retry-after": value }).end())
        const answer = expectAnswered(yield* callbacks.deliver(post(receiver.url)), 429)
        expect(Option.map(answer.retryAfter, Duration.toSeconds)).toEqual(seconds)
      }))
  }
})
