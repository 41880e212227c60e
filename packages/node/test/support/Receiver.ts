/** A callback over real HTTP: answers the challenge, writes down every event. */
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly at: number
}

export interface Receiver {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Waits until so many POSTs have come. */
  readonly posts: (count: number) => Promise<ReadonlyArray<Received>>
  /** Waits until what has come satisfies a condition. */
  readonly until: (condition: () => boolean) => Promise<void>
  /** The status with which events are answered from now on. */
  readonly answerWith: (status: number) => void
}

/** So long is waited for an event: twice the lease that a killed worker leaves behind. */
const patience = 30_000

/** Listens on loopback until the scope closes. */
export const makeReceiver = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Array<Received> = []
    const waiting = new Set<() => void>()
    let status = 200
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
        const { headers, method = "", url = "" } = request
        received.push({ method, url, headers, body, at: Date.now() })
        const challenge = new URL(url, "http://receiver.invalid").searchParams.get("hub.challenge")
        if (method === "GET") {
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify({ "hub.challenge": challenge }))
        } else response.writeHead(status).end()
        for (const look of waiting) look()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const posted = () => received.filter(({ method }) => method === "POST")
    const until = (condition: () => boolean): Promise<void> =>
      new Promise((resolve, reject) => {
        const stop = () => {
          waiting.delete(look)
          clearTimeout(timer)
        }
        const look = () => {
          if (!condition()) return
          stop()
          resolve()
        }
        const timer = setTimeout(() => {
          stop()
          reject(new Error(`what is waited for did not come; there are ${posted().length} events`))
        }, patience)
        waiting.add(look)
        look()
      })
    const receiver: Receiver = {
      url: `http://127.0.0.1:${port}/callback`,
      received,
      until,
      posts: async (count) => {
        await until(() => posted().length >= count)
        return posted()
      },
      answerWith: (next) => {
        status = next
      }
    }
    return { receiver, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
).pipe(Effect.map(({ receiver }) => receiver))
