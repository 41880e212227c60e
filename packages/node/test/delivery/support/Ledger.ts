/** A receiver that writes down every event that it is sent, what it answered, and whether the signature was good. */
import { Effect } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"

/** One POST. */
export interface Receipt {
  /** The subscriber's path. */
  readonly path: string
  /** The `webhook-id`. */
  readonly id: string
  /** The `webhook-timestamp`: when the attempt was begun, in whole seconds. */
  readonly timestamp: number
  readonly body: string
  /** When it had come, in milliseconds since 1970. */
  readonly at: number
  readonly isSigned: boolean
  /** The status that was answered, once the answer was handed to the network; 0 if the connection was closed before. */
  answered: number | undefined
}

/** What a subscriber does with a POST. */
export type Behaviour = (receipt: Receipt, response: ServerResponse) => void

/** Answers with this status at once. */
export const answer = (status: number, headers: Readonly<Record<string, string>> = {}): Behaviour => (_, response) => {
  response.writeHead(status, headers).end()
}

/** Never answers. */
export const hang: Behaviour = () => {}

export interface Ledger {
  /** A new subscriber: its callback URL. It verifies with this secret and answers 200, until told otherwise. */
  readonly enlist: (path: string, secret: string, behaviour?: Behaviour) => string
  readonly behave: (path: string, behaviour: Behaviour) => void
  readonly receipts: ReadonlyArray<Receipt>
  readonly at: (path: string) => ReadonlyArray<Receipt>
  /** Waits until what was written down satisfies a condition. */
  readonly until: (what: string, condition: () => boolean) => Effect.Effect<void>
  /** Waits until so many have come to a subscriber. */
  readonly count: (path: string, count: number) => Effect.Effect<ReadonlyArray<Receipt>>
}

/** So long is waited for a receipt: several leases, on a machine that is busy with other tests. */
const patience = 40_000

interface Subscriber {
  readonly webhook: Webhook
  behaviour: Behaviour
}

const isSigned = ({ webhook }: Subscriber, body: string, headers: Record<string, string>): boolean => {
  try {
    webhook.verify(body, headers)
    return true
  } catch {
    return false
  }
}

/** Listens on loopback until the scope closes. */
export const makeLedger = Effect.acquireRelease(
  Effect.promise(async () => {
    const receipts: Array<Receipt> = []
    const watchers = new Set<() => void>()
    const subscribers = new Map<string, Subscriber>()
    const changed = () => {
      for (const look of watchers) look()
    }

    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://ledger.invalid")
      if (request.method === "GET") {
        const challenge = url.searchParams.get("hub.challenge")
        response.writeHead(200, { "content-type": "application/json" })
        return response.end(JSON.stringify({ "hub.challenge": challenge }))
      }
      const subscriber = subscribers.get(url.pathname)
      if (subscriber === undefined) throw new Error(`nobody subscribed with ${url.pathname}`)
      let body = ""
      return request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
        const header = (name: string) => String(request.headers[name] ?? "")
        const headers = Object.fromEntries(
          ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, header(name)])
        )
        const receipt: Receipt = {
          path: url.pathname,
          id: header("webhook-id"),
          timestamp: Number(header("webhook-timestamp")),
          body,
          at: Date.now(),
          isSigned: isSigned(subscriber, body, headers),
          answered: undefined
        }
        response.once("close", () => {
          receipt.answered = response.writableFinished ? response.statusCode : 0
          changed()
        })
        receipts.push(receipt)
        subscriber.behaviour(receipt, response)
        changed()
      })
    })
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`

    const at = (path: string) => receipts.filter((receipt) => receipt.path === path)
    const until = (what: string, condition: () => boolean) =>
      Effect.async<void>((resume) => {
        const stop = () => {
          watchers.delete(look)
          clearTimeout(timer)
        }
        const look = () => {
          if (!condition()) return
          stop()
          resume(Effect.void)
        }
        const timer = setTimeout(() => {
          stop()
          resume(Effect.dieMessage(`${what} did not come; there are ${receipts.length} receipts`))
        }, patience)
        watchers.add(look)
        look()
        return Effect.sync(stop)
      })
    const ledger: Ledger = {
      enlist: (path, secret, behaviour = answer(200)) => {
        subscribers.set(path, { webhook: new Webhook(secret), behaviour })
        return origin + path
      },
      behave: (path, behaviour) => {
        const subscriber = subscribers.get(path)
        if (subscriber === undefined) throw new Error(`nobody subscribed with ${path}`)
        subscriber.behaviour = behaviour
      },
      receipts,
      at,
      until,
      count: (path, count) =>
        Effect.as(
          until(`receipt ${count} of ${path}`, () => at(path).length >= count),
          undefined
        ).pipe(Effect.map(() => at(path)))
    }
    return { ledger, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
).pipe(Effect.map(({ ledger }) => ledger))
