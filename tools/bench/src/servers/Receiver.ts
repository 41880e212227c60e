/** Receives events: answers 200 and counts them, with less CPU time than the sender needs. */
import { createServer, type Socket } from "node:net"
import * as Child from "../Child.ts"

/** The requests received since the last question. */
export interface Received {
  readonly right: number
  /** Repeated events, after attempts that timed out. */
  readonly repeated: number
  /** Requests that were not signed events. */
  readonly wrong: ReadonlyArray<string>
}

let seen = new Set<string>()
let repeated = 0
let wrong: Array<string> = []

const idPattern = /\r\nwebhook-id: (\S+)/i
const lengthPattern = /\r\ncontent-length: (\d+)/i

const judge = (head: string, body: string): void => {
  const id = idPattern.exec(head)?.[1]
  const key = `${id} ${body}`
  const isRight = head.startsWith("POST /callback HTTP/1.1\r\n") && id !== undefined &&
    /\r\nwebhook-signature: v1,\S{44}\r\n/i.test(head) && body.startsWith("{\"aspect_type\":\"updated\",")
  if (isRight && seen.has(key)) repeated++
  else if (isRight) seen.add(key)
  else wrong.push(`${head}${body}`)
}

const receive = (socket: Socket): void => {
  let received = ""
  socket.setNoDelay()
  socket.setEncoding("latin1")
  socket.on("error", () => {})
  socket.on("data", (chunk: string) => {
    received += chunk
    for (;;) {
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) return
      const head = received.slice(0, end + 4)
      const total = end + 4 + Number(lengthPattern.exec(head)?.[1] ?? 0)
      if (received.length < total) return
      judge(head, received.slice(end + 4, total))
      received = received.slice(total)
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    }
  })
}

const server = createServer(receive)
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  Child.answer(async (): Promise<Received> => {
    const counted = { right: seen.size, repeated, wrong }
    seen = new Set()
    repeated = 0
    wrong = []
    return counted
  })
  Child.ready({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
