/** A load generator with little CPU time of its own: keep-alive sockets, one request in flight on each. */
import { connect, type Socket } from "node:net"
import type * as Cpu from "./Cpu.ts"
import { type Clocks, type Effort, makeStopwatch, type Measurement } from "./Measurement.ts"

/** The requests of one connection. */
export interface Conversation {
  /** The next request: its head without the length, and its body. */
  readonly next: () => { readonly head: string; readonly body: string }
  /** Whether the response is correct: a benchmark must not measure wrong responses. */
  readonly accepts: (status: number, body: string) => boolean
}

const lengthPattern = /\r\ncontent-length: (\d+)/i

/** Sends requests on one connection until `ended` returns true. */
const talk = (socket: Socket, { accepts, next }: Conversation, ended: (began: number) => boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    let received = ""
    let began = 0
    const send = () => {
      const { body, head } = next()
      began = performance.now()
      socket.write(`${head}host: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    }
    const fail = (what: string) => {
      socket.destroy()
      reject(new Error(`${what}: ${received.slice(0, 1000)}`))
    }
    socket.setEncoding("latin1")
    socket.on("error", reject)
    socket.on("close", () => fail("the server closed the connection"))
    socket.on("data", (chunk: string) => {
      received += chunk
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) return
      const length = lengthPattern.exec(received)?.[1]
      if (length === undefined) return fail("an answer without a length")
      if (received.length < end + 4 + Number(length)) return
      if (!accepts(Number(received.slice(9, 12)), received.slice(end + 4))) return fail("a wrong answer")
      received = ""
      if (ended(began)) return send()
      socket.destroy()
      resolve()
    })
    socket.on("connect", send)
  })

/** Requests per second, their latencies and, with clocks, their CPU time, of a warm server. */
export const run = async (
  port: number,
  conversations: ReadonlyArray<Conversation>,
  effort: Effort,
  clocks?: Clocks<Cpu.Clock>
): Promise<Measurement> => {
  const { ended, result } = makeStopwatch(effort, clocks)
  await Promise.all(
    conversations.map((conversation) => talk(connect(port, "127.0.0.1").setNoDelay(), conversation, ended))
  )
  return result()
}
