/** A callback over real HTTP. It answers the challenge, records every request, and responds as a test specifies. */
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"
import { patience } from "./Patience.ts"

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Time of arrival, in milliseconds since 1970. */
  readonly at: number
  /** The `webhook-id`. */
  readonly id: string
  /** The `webhook-timestamp`: start of the attempt, in whole seconds. */
  readonly timestamp: number
  /** The `startlist-sequence`. */
  readonly sequence: number
  /** Whether the signature is valid; false if the secret of this path is unknown. */
  readonly isSigned: boolean
  /** The status, when the response was written to the socket; 0 if the connection was closed before. */
  answered: number | undefined
}

/** Response to an event. */
export type Behaviour = (received: Received, response: ServerResponse) => void

/** Responds immediately with this status. */
export const answer = (status: number, headers: Readonly<Record<string, string>> = {}): Behaviour => (_, response) => {
  response.writeHead(status, headers).end()
}

/** Never responds. */
export const hang: Behaviour = () => {}

export interface Receiver {
  /** A callback URL. `urlOf` returns others. */
  readonly url: string
  readonly urlOf: (path: string) => string
  /** Every request, oldest first. */
  readonly received: ReadonlyArray<Received>
  /** Events of one path or of all, oldest first. */
  readonly events: (path?: string) => ReadonlyArray<Received>
  /** Waits until at least `count` events have arrived, and returns all of them. */
  readonly posts: (count: number, path?: string) => Promise<ReadonlyArray<Received>>
  /** Waits for a condition as long as events arrive. `what` names the condition in the error. */
  readonly until: (condition: () => boolean, what?: string) => Promise<void>
  /** The behaviour of a path from now on; 200 by default. */
  readonly behave: (path: string, behaviour: Behaviour) => void
  /** The status for events on `url` from now on. */
  readonly answerWith: (status: number) => void
  /** The secret that signs the events of a path. */
  readonly verify: (path: string, secret: string) => void
}

const defaultPath = "/callback"

const isSignedBy = (webhook: Webhook | undefined, body: string, headers: Record<string, string>): boolean => {
  try {
    return webhook?.verify(body, headers) !== undefined
  } catch {
    return false
  }
}

/** Listens on loopback until the scope closes. */
export const makeReceiver = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Array<Received> = []
    const watchers = new Set<() => void>()
    const behaviours = new Map<string, Behaviour>()
    const webhooks = new Map<string, Webhook>()
    const changed = () => {
      for (const look of watchers) look()
    }
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
        const { headers, method = "", url = "" } = request
        const { pathname: path, searchParams } = new URL(url, "http://receiver.invalid")
        const header = (name: string) => String(headers[name] ?? "")
        const names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
        const one: Received = {
          method,
          url,
          path,
          headers,
          body,
          at: Date.now(),
          id: header("webhook-id"),
          timestamp: Number(header("webhook-timestamp")),
          sequence: Number(header("startlist-sequence")),
          isSigned: isSignedBy(
            webhooks.get(path),
            body,
            Object.fromEntries(names.map((name) => [name, header(name)]))
          ),
          answered: undefined
        }
        response.once("close", () => {
          one.answered = response.writableFinished ? response.statusCode : 0
          changed()
        })
        received.push(one)
        if (method === "GET") {
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify({ "hub.challenge": searchParams.get("hub.challenge") }))
        } else (behaviours.get(path) ?? answer(200))(one, response)
        changed()
      })
    })
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    const events = (path?: string) =>
      received.filter((one) => one.method === "POST" && (path === undefined || one.path === path))
    const until = (condition: () => boolean, what = "the expected request"): Promise<void> =>
      new Promise((resolve, reject) => {
        const stop = () => {
          watchers.delete(look)
          clearTimeout(timer)
        }
        const look = () => {
          if (!condition()) return void timer.refresh()
          stop()
          resolve()
        }
        const timer = setTimeout(() => {
          stop()
          reject(new Error(`${what} did not come; there are ${events().length} events`))
        }, patience)
        watchers.add(look)
        look()
      })
    const receiver: Receiver = {
      url: origin + defaultPath,
      urlOf: (path) => origin + path,
      received,
      events,
      until,
      posts: async (count, path) => {
        await until(() => events(path).length >= count, `event ${count}`)
        return events(path)
      },
      behave: (path, behaviour) => void behaviours.set(path, behaviour),
      answerWith: (status) => void behaviours.set(defaultPath, answer(status)),
      verify: (path, secret) => void webhooks.set(path, new Webhook(secret))
    }
    return { receiver, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
).pipe(Effect.map(({ receiver }) => receiver))
