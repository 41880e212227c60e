/** Every reader of bodies gets bodies that cost it more than their sender. The service has its own tests. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { connect, type Socket } from "node:net"
import { type Readers, startReaders } from "./support/Readers.ts"

let readers: Readers
beforeAll(async () => {
  readers = await startReaders()
})
afterAll(() => readers.stop())

const head = (target: string, headers: string) => `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`

const targets = {
  inbox: ["/callback", () => ""],
  fake: ["/fake/time", () => "Content-Type: application/json\r\n"],
  sample: ["/connect", () => `Origin: http://localhost:${readers.ports.sample}\r\n`]
} as const

interface Ended {
  /** None if the connection was reset before the answer was read: what was still sent is not read. */
  readonly status: string | undefined
  /** Bytes that were given to the system. */
  readonly written: number
}

/** Sends until the reader closes the connection. */
const conversation = (port: number, send: (socket: Socket) => void): Promise<Ended> =>
  new Promise((resolve) => {
    const received: Array<Buffer> = []
    const socket = connect({ port, host: "127.0.0.1" })
    const end = () => {
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(Buffer.concat(received).toString("latin1")) ?? []
      resolve({ status, written: socket.bytesWritten })
    }
    socket.on("data", (piece) => received.push(piece)).on("error", () => {}).on("close", end)
    socket.on("connect", () => send(socket))
  })

/** Writes a text again and again while the other side reads, at most `most` times. */
const repeatedly = (socket: Socket, text: string, most = Infinity): void => {
  let count = 0
  const write = () => {
    while (count < most && !socket.destroyed) {
      count++
      if (!socket.write(text)) return
    }
  }
  socket.on("drain", write)
  write()
}

const megabyte = 1_048_576

describe.each(["inbox", "fake", "sample"] as const)("the reader of the %s", (name) => {
  const [target, headersOf] = targets[name]
  const begin = (framing: string) => head(target, `${headersOf()}${framing}\r\n`)
  const chunked = "Transfer-Encoding: chunked"

  it("refuses a body of one-byte chunks after few of them, and does not read the rest", async () => {
    await readers.measure()
    const { status, written } = await conversation(readers.ports[name], (socket) => {
      socket.write(begin(chunked))
      repeatedly(socket, "1\r\nx\r\n".repeat(1000), 800)
    })
    const { peak, resting, worked } = await readers.measure()
    expect(["413", undefined]).toContain(status)
    expect(peak - resting).toBeLessThan(64 * megabyte)
    expect(worked).toBeLessThan(400)
    expect(written).toBeLessThan(4.5 * megabyte)
  })

  it("refuses an endless body, and does not read the rest", async () => {
    for (const framing of [chunked, "Content-Length: 100000000000"]) {
      const { status, written } = await conversation(readers.ports[name], (socket) => {
        socket.write(begin(framing))
        repeatedly(socket, framing === chunked ? `10000\r\n${"x".repeat(65_536)}\r\n` : "x".repeat(65_536))
      })
      expect(["413", undefined]).toContain(status)
      expect(written).toBeLessThan(16 * megabyte)
    }
  })

  it("gives up a body that stops", async () => {
    const { status } = await conversation(readers.ports[name], (socket) => {
      socket.write(begin("Content-Length: 100") + "beginning")
    })
    expect(status).toBe("408")
  })
})
