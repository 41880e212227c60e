/**
 * Receives events: checks them, stores each one once, responds, and only then handles them.
 *
 * An acknowledged event is in the store until it is handled, so a crash loses none. After a crash, the handler may get
 * an event again: make it idempotent.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { type Event, type StoredEvent, toEvent, toStored } from "./Events.ts"
import { BodyRefused, readBody, readStream } from "./Body.ts"
import { isAuthentic, isEqual, unguessable } from "./internal/crypto.ts"
import { limit, readPage } from "./internal/service.ts"

/**
 * Stores events until they are handled. Then it needs their identifiers, objects and sequences while older events and
 * repeats are possible (60 days).
 */
export interface EventStore {
  /** Stores an event, unless its identifier is known. Returns whether it is new. */
  readonly add: (event: StoredEvent) => Promise<boolean>
  /**
   * Makes `owner` the only process that handles events until `until` (milliseconds since 1970, like `now`), unless
   * another process is. Atomic. Returns whether `owner` is.
   */
  readonly lease: (owner: string, now: number, until: number) => Promise<boolean>
  /** At most `limit` unhandled events, oldest first, without the first `skip`. */
  readonly waiting: (limit: number, skip: number) => Promise<ReadonlyArray<StoredEvent>>
  /** The largest sequence of the handled events about an object. */
  readonly newest: (object: string) => Promise<number | undefined>
  /** Marks these events as handled. */
  readonly done: (ids: ReadonlyArray<string>) => Promise<void>
  /** The cursor of the event log. */
  readonly cursor: () => Promise<string | undefined>
  readonly keepCursor: (cursor: string | undefined) => Promise<void>
}

/** Where events are stored, how they are verified, and who handles them. */
export interface InboxOptions {
  readonly store: EventStore
  /** The verify token of your subscription. */
  readonly verifyToken: string
  /**
   * Returns the signing secrets of the application: two for a day after a rotation, otherwise one. Called per event.
   */
  readonly signingSecrets: () => ReadonlyArray<string> | Promise<ReadonlyArray<string>>
  /** Handles an event. If it fails, the event is retried later, and events about the same object wait for it. */
  readonly handle: (event: Event) => unknown
  /**
   * Handling of a late event: a newer one about its object was handled before. `flag` (default): `handle`
   * gets it with `isLate: true`. `skip`: it counts as handled.
   */
  readonly late?: "flag" | "skip"
  /** Called with errors. Default: `console.error`. */
  readonly onError?: (error: unknown) => void
}

/**
 * A receiver of events.
 *
 * @example
 * ```ts
 * import { createClient, memoryEvents } from "@startlist/client"
 * import { createServer } from "node:http"
 *
 * const client = createClient({ url: "https://startlist.example", clientId: 7, clientSecret: "sl_cs_…", redirectUri: "" })
 * const inbox = client.inbox({
 *   store: memoryEvents(),
 *   verifyToken: "something that only you know",
 *   signingSecrets: () => ["whsec_…"],
 *   handle: (event) => console.log(event.type)
 * })
 * createServer(inbox.node).listen(3000)
 * ```
 */
export interface Inbox {
  /** For servers with `fetch` handlers. */
  readonly fetch: (request: Request) => Promise<Response>
  /** For `node:http` and Express. Mount it before body parsers. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /** Handles all stored events. Call it at the start; it runs by itself after each event. */
  readonly process: () => Promise<void>
  /**
   * Reads the event log from the last cursor, and stores and handles missing events. `accessToken` belongs to a
   * platform user. Returns the number of missing events. Fails with `TryLater` or `Refused`; events read until then are
   * stored.
   */
  readonly catchUp: (accessToken: string) => Promise<number>
  /** Stops handling events, and waits for the handler. */
  readonly close: () => Promise<void>
}

/** Time limit in milliseconds for handling one event. After it, another process may also begin to handle it. */
const lease = 60_000

/** Pause in milliseconds before the next check, if another process handles events, or after a failure. */
const pauses = { other: 1000, failure: 5000 }

const status = (code: number) => new Response(null, { status: code })

const allowed = { allow: "GET, POST" }

/** A request of `node:http` or Express. A raw body parser may have read its body. */
type NodeRequest = IncomingMessage & { readonly body?: unknown }

/** Only the query of the address matters. Others than GET and POST are refused before. */
const toRequest = ({ headers, method = "GET", url = "/" }: NodeRequest, body: Uint8Array<ArrayBuffer>): Request => {
  const kept = new Headers()
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature", "startlist-sequence"]) {
    const value = headers[name]
    if (typeof value === "string") kept.set(name, value)
  }
  const query = url.replace(/^[^?]*/, "")
  return new Request(`http://localhost/${query}`, { method, headers: kept, ...(method === "POST" ? { body } : {}) })
}

/** Makes an inbox of this client. */
export const createInbox = (
  options: InboxOptions & {
    readonly now: () => number
    readonly fetch: typeof globalThis.fetch
    readonly url: string
  }
): Inbox => {
  // oxlint-disable-next-line no-console -- the caller may give another way
  const { fetch, handle, late = "flag", now, onError = console.error, signingSecrets, store, url, verifyToken } =
    options
  /** This process. */
  const owner = unguessable()
  let isClosed = false
  let isWoken = false
  let running: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  /**
   * Handles these events in order. Later events about the object of a failed one are skipped. Returns the number of
   * remaining events, or nothing if this process must stop.
   */
  const handleAll = async (events: ReadonlyArray<StoredEvent>, failed: Set<string>): Promise<number | undefined> => {
    let left = 0
    for (const event of events) {
      if (isClosed || !await store.lease(owner, now(), now() + lease)) return undefined
      const { id, object, sequence } = event
      try {
        if (!failed.has(object)) {
          // Looked up for each event: since this page was read, another process may have handled newer ones.
          const isLate = sequence !== undefined && sequence < (await store.newest(object) ?? sequence)
          if (!isLate || late === "flag") await handle(toEvent(event, isLate))
          await store.done([id])
          continue
        }
      } catch (error) {
        failed.add(object)
        onError(error)
      }
      left++
    }
    return left
  }

  const run = async (): Promise<void> => {
    const failed = new Set<string>()
    let left = 0
    try {
      while (!isClosed) {
        isWoken = false
        if (!await store.lease(owner, now(), now() + lease)) return again(pauses.other)
        const events = await store.waiting(100, left)
        const more = await handleAll(events, failed)
        await store.lease(owner, now(), now())
        if (more === undefined) return again(pauses.other)
        left += more
        if (events.length === 0 && !isWoken) return left === 0 ? undefined : again(pauses.failure)
      }
    } finally {
      // Here, and not when the promise is fulfilled: an event that is stored in between needs another run.
      running = undefined
    }
  }

  const again = (millis: number): void => {
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(() => void process(), millis)
  }

  const process = (): Promise<void> => {
    isWoken = true
    running ??= run().catch((error) => {
      onError(error)
      again(pauses.failure)
    })
    return running
  }

  const answerChallenge = async (request: Request): Promise<Response> => {
    const asked = new URL(request.url).searchParams
    const isMine = await isEqual(asked.get("hub.verify_token") ?? "", verifyToken)
    return isMine ? Response.json({ "hub.challenge": asked.get("hub.challenge") ?? "" }) : status(403)
  }

  const receive = async (request: Request): Promise<Response> => {
    const body = await readStream(request.body)
    const header = (name: string) => request.headers.get(name) ?? ""
    const id = header("webhook-id")
    const signed = { id, timestamp: header("webhook-timestamp"), signatures: header("webhook-signature"), body }
    if (!await isAuthentic(signed, await signingSecrets(), now())) return status(401)
    const sequence = /^\d{1,16}$/.test(header("startlist-sequence")) ? Number(header("startlist-sequence")) : undefined
    if (await store.add(toStored(id, new TextDecoder().decode(body), sequence))) void process()
    return status(200)
  }

  const answer = async (request: Request): Promise<Response> => {
    try {
      if (request.method === "GET") return await answerChallenge(request)
      if (request.method === "POST") return await receive(request)
      return new Response(null, { status: 405, headers: allowed })
    } catch (error) {
      if (error instanceof BodyRefused) return status(error.status)
      // Not acknowledged, so the service retries it.
      onError(error)
      return status(503)
    }
  }

  const answerNode = async (incoming: NodeRequest, outgoing: ServerResponse): Promise<void> => {
    if (incoming.method !== "GET" && incoming.method !== "POST") {
      return void outgoing.writeHead(405, { ...allowed, connection: "close" }).end()
    }
    if (incoming.body !== undefined && !(incoming.body instanceof Uint8Array)) {
      throw new TypeError("the body of an event was parsed before: mount the inbox in front of express.json()")
    }
    try {
      const body = incoming.body === undefined ? await readBody(incoming) : new Uint8Array(incoming.body)
      const response = await answer(toRequest(incoming, body))
      const text = new Uint8Array(await response.arrayBuffer())
      const headers = { ...Object.fromEntries(response.headers), "content-length": String(text.length) }
      outgoing.writeHead(response.status, headers).end(text)
    } catch (error) {
      if (!(error instanceof BodyRefused)) throw error
      // The connection ends with the answer, so that the rest of the body is not read.
      outgoing.writeHead(error.status, { connection: "close" }).end()
    }
  }

  return {
    fetch: answer,
    process,
    node: (incoming, outgoing) => {
      answerNode(incoming, outgoing).catch((error) => {
        onError(error)
        outgoing.destroy()
      })
    },
    catchUp: async (accessToken) => {
      let missing = 0
      while (true) {
        const cursor = await store.cursor()
        // Without a page, it starts at the beginning: known events are skipped.
        const page = await readPage({ fetch, url }, accessToken, cursor)
        for (const { event, sequence, webhook_id: id } of page?.events ?? []) {
          if (await store.add(toStored(id, JSON.stringify(event), sequence))) missing++
        }
        await store.keepCursor(page?.next)
        if (page !== undefined && page.events.length < limit) break
      }
      await process()
      return missing
    },
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await running
    }
  }
}
