/** A load generator that costs less than what it measures: keep-alive sockets, one request in flight on each. */
import { connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"

/** What one connection sends next, given the body of the last answer (empty at first). */
export type Conversation = (lastBody: string) => { readonly head: string; readonly body: string }

export interface Load {
  readonly port: number
  readonly seconds: number
  /** One for each connection. */
  readonly conversations: ReadonlyArray<Conversation>
}

const lengthPattern = /content-length: (\d+)/i

/** Talks on one connection until `isOver`. An answer other than 200 is an error: a benchmark of failures is none. */
const talk = (socket: Socket, next: Conversation, answered: () => boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    let received = ""
    const send = (lastBody: string) => {
      const { body, head } = next(lastBody)
      socket.write(`${head}host: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    }
    socket.setEncoding("latin1")
    socket.on("error", reject)
    socket.on("data", (chunk: string) => {
      received += chunk
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) return
      const length = Number(lengthPattern.exec(received)?.[1] ?? 0)
      if (received.length < end + 4 + length) return
      if (!received.startsWith("HTTP/1.1 200")) return reject(new Error(received.slice(0, 500)))
      const body = received.slice(end + 4)
      received = ""
      if (answered()) send(body)
      else {
        socket.end()
        resolve()
      }
    })
    socket.on("connect", () => send(""))
  })

/** So many answers first, at most for so long: a compiler that works while code runs is warm after work, not after time. */
const warmUp = 30_000
const warmUpMillis = 10_000

/** Answers per second over `seconds`, by a warm server. */
export const run = async ({ conversations, port, seconds }: Load): Promise<number> => {
  const warm = performance.now() + warmUpMillis
  let left = warmUp
  let over = Number.POSITIVE_INFINITY
  let count = 0
  const answered = () => {
    const now = performance.now()
    if (left > 0) {
      if (--left === 0 || now >= warm) {
        left = 0
        over = now + seconds * 1000
      }
    } else if (now < over) count++
    return now < over
  }
  await Promise.all(conversations.map((next) => talk(connect(port, "127.0.0.1").setNoDelay(), next, answered)))
  return count / seconds
}
