import { afterAll, describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type * as net from "node:net"
import * as zlib from "node:zlib"
import { dispatcher, expectAnswered, flood, ok, raw, responding, validation, watchProcess } from "./Receivers.ts"

const troubles = watchProcess()

afterAll(() => expect(troubles).toEqual([]))

describe.concurrent("the validation of a receiver that", () => {
  const validated = (respond: (socket: net.Socket) => void) =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* raw(respond)
      const [took, answer] = yield* Effect.timed(callbacks.validate(validation(receiver.url)))
      yield* receiver.allClosed
      return { answer, took: Duration.toMillis(took) }
    })

  const late: Record<string, (socket: net.Socket) => void> = {
    "never answers": () => {},
    "never ends its body": (socket) => socket.write(`${ok}Content-Length: 10\r\n\r\nx`)
  }
  for (const [name, respond] of Object.entries(late)) {
    it.scopedLive(`${name} times out at the deadline`, () =>
      Effect.gen(function*() {
        const { answer, took } = yield* validated(respond)
        expect(answer._tag).toBe("TimedOut")
        expect(took).toBeLessThan(3500)
      }))
  }

  it.scopedLive("sends more than 4 KiB has an empty answer, even if the beginning is correct", () =>
    Effect.gen(function*() {
      const body = `{"hub.challenge":"c-1"}`
      for (const [length, kept] of [[4096, 4096], [4097, 0], [10_000_000_000, 0]] as const) {
        const { answer, took } = yield* validated((socket) => {
          socket.write(`${ok}Connection: close\r\nContent-Length: ${length}\r\n\r\n${body}${" ".repeat(4073)}`)
          if (length > 4096) flood(socket, " ".repeat(65_536))
          else socket.end()
        })
        expect(expectAnswered(answer, 200).body).toHaveLength(kept)
        expect(took).toBeLessThan(1900)
      }
    }))

  it.scopedLive("closes the connection within its body is unreachable", () =>
    Effect.gen(function*() {
      const { answer } = yield* validated((socket) => socket.end(`${ok}Content-Length: 100\r\n\r\n{}`))
      expect(answer).toEqual({
        _tag: "Unreachable",
        detail: "the connection was closed before the answer was complete"
      })
    }))

  it.scopedLive("compresses its answer has an empty one", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const receiver = yield* responding((_, response) =>
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
          .end(zlib.gzipSync(`{"hub.challenge":"c-1"}`))
      )
      expect(expectAnswered(yield* callbacks.validate(validation(receiver.url)), 200).body).toBe("")
    }))

  it.scopedLive("sends two content types gets an error with both", () =>
    Effect.gen(function*() {
      const { answer } = yield* validated((socket) =>
        socket.end(`${ok}Content-Type: application/json\r\nConnection: close\r\n\r\n{}`)
      )
      expect(expectAnswered(answer, 200).contentType).toBe("text/plain, application/json")
    }))
})
