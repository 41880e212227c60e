/**
 * Receives events: checks them, stores each one once, responds, and only then handles them.
 *
 * An event that was acknowledged is in the store until it was handled, so a crash loses none. The handler may see an event
 * a second time if a process died while it was at work: make it repeatable, as you would for any queue.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Refused } from "./Errors.ts"
import { type Event, objectOf, toEvent } from "./Events.ts"
import { isEqual, unguessable } from "./internal/encoding.ts"
import { refusalOf, send } from "./internal/request.ts"
import { isAuthentic } from "./internal/signature.ts"

/** An event as it is stored. */
export interface StoredEvent {
  /** The `webhook-id`. */
  readonly id: string
  /** JSON text. */
  readonly body: string
}

/** Where events live until they are handled, and their identifiers for as long as repeats may come (30 days). */
export interface EventStore {
  /** Stores an event, unless its identifier is known. Answers whether it is new. */
  readonly add: (event: StoredEvent) => Promise<boolean>
  /**
   * Makes `owner` the one process that handles events until `until` (milliseconds since 1970, like `now`), unless another
   * one is. One atomic step. Answers whether it is.
   */
  readonly lease: (owner: string, now: number, until: number) => Promise<boolean>
  /** At most `limit` events that are not handled, oldest first, without the first `skip`. */
  readonly waiting: (limit: number, skip: number) => Promise<ReadonlyArray<StoredEvent>>
  /** These events are handled. */
  readonly done: (ids: ReadonlyArray<string>) => Promise<void>
  /** Where the reader of the event log goes on. */
  readonly cursor: () => Promise<string | undefined>
  readonly keepCursor: (cursor: string | undefined) => Promise<void>
}

export interface InboxOptions {
  readonly store: EventStore
  /** What you gave when you subscribed. */
  readonly verifyToken: string
  /** The signing secrets of the application: one, and for a day after a rotation two. Asked for with each event. */
  readonly signingSecrets: () => ReadonlyArray<string> | Promise<ReadonlyArray<string>>
  /** Handles an event. If it fails, the event is handled again later, and those about the same object wait for it. */
  readonly handle: (event: Event) => unknown
  /** Told of what went wrong. Default: `console.error`. */
  readonly onError?: (error: unknown) => void
}

export interface Inbox {
  /** For servers that speak `fetch`. */
  readonly fetch: (request: Request) => Promise<Response>
  /** For `node:http` and Express. Mount it before anything that reads bodies. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /** Handles what is stored, until nothing is left. Call it at the start; it runs by itself after each event. */
  readonly process: () => Promise<void>
  /**
   * Reads the event log from where it was left, stores what is missing, and handles it. `accessToken` is one of a platform
   * user. Answers how many events were missing. Fails with `TryLater` or `Refused`; what was read is kept.
   */
  readonly catchUp: (accessToken: string) => Promise<number>
  /** Handles nothing more, and waits for the handler. */
  readonly close: () => Promise<void>
}

/** The largest body of an event that is read (1 MiB). */
const maxBytes = 1_048_576

/** Time limit in milliseconds for handling one event. After it, another process may begin to handle it too. */
const lease = 60_000

/** Pause in milliseconds before the next check, if another process handles events, or after a failure. */
const pauses = { other: 1000, failure: 5000 }

const status = (code: number) => new Response(null, { status: code })

/** The body, or nothing if it is too large: then it is not read to its end. */
const readLimited = async ({ body }: Request): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  const pieces: Array<Uint8Array<ArrayBuffer>> = []
  let size = 0
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    pieces.push(next.value)
    size += next.value.length
    if (size > maxBytes) {
      await reader?.cancel()
      return undefined
    }
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

interface Page {
  readonly events: ReadonlyArray<{ readonly webhook_id: string; readonly body: string; readonly cursor: string }>
  readonly cursor: string
  readonly has_more: boolean
}

const isPage = (body: unknown): body is Page =>
  typeof body === "object" && body !== null && Array.isArray(Reflect.get(body, "events")) &&
  typeof Reflect.get(body, "cursor") === "string" && typeof Reflect.get(body, "has_more") === "boolean"

export const createInbox = (
  options: InboxOptions & {
    readonly now: () => number
    readonly fetch: typeof globalThis.fetch
    readonly url: string
  }
): Inbox => {
  // oxlint-disable-next-line no-console -- the caller may give another way
  const { fetch, handle, now, onError = console.error, signingSecrets, store, url, verifyToken } = options
  /** This process. */
  const owner = unguessable()
  let isClosed = false
  let isWoken = false
  let running: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  /**
   * Handles these events in their order; those behind a failed one about the same object are left for later. Returns how
   * many are left, or nothing if this process has to stop.
   */
  const handleAll = async (events: ReadonlyArray<StoredEvent>, failed: Set<string>): Promise<number | undefined> => {
    let left = 0
    for (const { body, id } of events) {
      if (isClosed || !await store.lease(owner, now(), now() + lease)) return undefined
      const object = objectOf(body)
      try {
        if (!failed.has(object)) {
          await handle(toEvent(id, body))
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
    }).finally(() => {
      running = undefined
    })
    return running
  }

  const answerChallenge = async (request: Request): Promise<Response> => {
    const asked = new URL(request.url).searchParams
    const isMine = await isEqual(asked.get("hub.verify_token") ?? "", verifyToken)
    return isMine ? Response.json({ "hub.challenge": asked.get("hub.challenge") ?? "" }) : status(403)
  }

  const receive = async (request: Request): Promise<Response> => {
    const body = await readLimited(request)
    if (body === undefined) return status(413)
    const header = (name: string) => request.headers.get(name) ?? ""
    const id = header("webhook-id")
    const signed = { id, timestamp: header("webhook-timestamp"), signatures: header("webhook-signature"), body }
    if (!await isAuthentic(signed, await signingSecrets(), now())) return status(401)
    if (await store.add({ id, body: new TextDecoder().decode(body) })) void process()
    return status(200)
  }

  const answer = async (request: Request): Promise<Response> => {
    try {
      if (request.method === "GET") return await answerChallenge(request)
      if (request.method === "POST") return await receive(request)
      return new Response(null, { status: 405, headers: { allow: "GET, POST" } })
    } catch (error) {
      // Nothing was acknowledged: the service sends it again.
      onError(error)
      return status(503)
    }
  }

  const readPage = async (accessToken: string, cursor: string | undefined): Promise<Page | undefined> => {
    const query = cursor === undefined ? "" : `?after=${encodeURIComponent(cursor)}`
    const headers = { authorization: `Bearer ${accessToken}` }
    const found = await send(fetch, `${url}/api/v1/webhook_subscription/events${query}`, { headers })
    if (found.status === 200) {
      if (isPage(found.body)) return found.body
      throw new Refused("invalid_response", `${url} is not a Startlist service`)
    }
    // The cursor is of another time, as after a restored backup: from the start, since known events are left out.
    if (found.status === 422 && cursor !== undefined) return undefined
    throw refusalOf(found)
  }

  return {
    fetch: answer,
    process,
    node: (incoming, outgoing) => {
      serveNode(answer, incoming, outgoing).catch((error) => {
        onError(error)
        outgoing.destroy()
      })
    },
    catchUp: async (accessToken) => {
      let missing = 0
      while (true) {
        const cursor = await store.cursor()
        const page = await readPage(accessToken, cursor)
        for (const { body, webhook_id: id } of page?.events ?? []) if (await store.add({ id, body })) missing++
        await store.keepCursor(page?.cursor)
        if (page?.has_more === false) break
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

const serveNode = async (
  answer: Inbox["fetch"],
  incoming: IncomingMessage & { readonly body?: unknown },
  outgoing: ServerResponse
): Promise<void> => {
  if (incoming.body !== undefined && !(incoming.body instanceof Uint8Array)) {
    throw new TypeError("the body of an event was parsed before: mount the inbox in front of express.json()")
  }
  const pieces: Array<Uint8Array> = []
  let size = 0
  if (incoming.body instanceof Uint8Array) pieces.push(incoming.body)
  else {
    for await (const piece of incoming) {
      const bytes: Uint8Array = piece
      size += bytes.length
      if (size <= maxBytes + 1) pieces.push(bytes)
    }
  }
  const headers = new Headers()
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    const value = incoming.headers[name]
    if (typeof value === "string") headers.set(name, value)
  }
  const { method = "GET", url = "/" } = incoming
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = size > maxBytes
    ? new Uint8Array(maxBytes + 1)
    : new Uint8Array(await new Blob(pieces as Array<Uint8Array<ArrayBuffer>>).arrayBuffer())
  const request = new Request(new URL(url, "http://localhost"), { method, headers, ...(hasBody ? { body } : {}) })
  const response = await answer(request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(new Uint8Array(await response.arrayBuffer()))
}
