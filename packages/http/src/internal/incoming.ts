/**
 * Incoming requests, for all bindings: checks and target of the head, the body within limits of size, pieces and time, and
 * the responses that a binding itself gives.
 */
import type { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { maxBodyBytes, maxBodyPieces, maxHeaders, maxSwallowedBytes, type Response } from "../Http.ts"
import { Fragmented, Malformed, type Refusal, Repeated, TooLarge, TooManyHeaders } from "../Refusal.ts"

/** Headers that may occur only once. If repeated, Node uses the first and other servers the last (RFC 9110 §5.3). */
const single: ReadonlyMap<string, string> = new Map(
  ["Authorization", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Origin"].map((name) =>
    [name.toLowerCase(), name] as const
  )
)
const lengths = new Set([...single.keys()].map((name) => name.length))

/** Headers whose value has no comma. A server that joins repeated headers adds one. */
const withoutComma = new Set(["content-length", "content-type", "host", "origin"])

/** A host and a port (RFC 9112 §3.2), or nothing. */
const host = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/i

/** Checks names and values in turn, as in Node's `rawHeaders`. */
export const refusalOf = (headers: ReadonlyArray<string>): Refusal | undefined => {
  if (headers.length / 2 > maxHeaders) return new TooManyHeaders({ most: maxHeaders })
  let seen = ""
  for (let i = 0; i < headers.length; i += 2) {
    const raw = headers[i] ?? ""
    if (!lengths.has(raw.length)) continue
    const lower = raw.toLowerCase()
    const name = single.get(lower)
    if (name === undefined) continue
    const isJoined = withoutComma.has(lower) && headers[i + 1]?.includes(",") === true
    if (isJoined || seen.includes(`${lower} `)) return new Repeated({ name: `the header ${name}` })
    if (lower === "host" && !host.test(headers[i + 1] ?? "")) return new Malformed({ what: "header Host" })
    seen += `${lower} `
  }
  return undefined
}

/** Refuses a body whose announced length is more than is ever read, even to drain it. */
export const refusalOfLength = (contentLength: string | null): Refusal | undefined =>
  Number(contentLength ?? 0) > maxSwallowedBytes ? new TooLarge() : undefined

/** The parts of a request target: the raw path, and the raw query without `?`. */
export interface Target {
  readonly path: string
  readonly query: string
}

/** Splits a target. Proxies may send an absolute one (RFC 9112 §3.2.2), and a Web `Request` always has one. */
export const parseTarget = (target: string): Target => {
  const local = toOriginForm(target)
  const mark = local.indexOf("?")
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) }
}

/** Removes scheme and host of an absolute target. */
const toOriginForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/^(?=$|\?)/, "/")

const noStore = { "cache-control": "no-store" }

/** The body did not arrive in time (RFC 9110 §15.5.9). */
export const tooLate: Response = { status: 408, headers: noStore, body: "" }

/** The request took too long and was interrupted. */
export const tooSlow: Response = { status: 503, headers: { ...noStore, "retry-after": "5" }, body: "" }

/** A bug, which is logged. */
export const broken: Response = { status: 500, headers: noStore, body: "" }

/** Logged if other middleware has read a body: its parsed value is not the sent bytes. */
export const readBefore = "the body of a request was read before Startlist: register body parsers after Startlist"

const most = maxBodyBytes + 1

/** Collects the pieces of a body up to one byte over the limit. Copies them, so that Node's objects can be freed. */
export class Body {
  /** The first piece itself, since most bodies have only one. From the second piece on, an own buffer. */
  private buffer: Uint8Array = new Uint8Array()
  private size = 0
  private received = 0
  private pieces = 0

  /** Adds the next piece. Returns whether to read on. */
  add(piece: Uint8Array): boolean {
    this.pieces++
    this.received += piece.byteLength
    const part = piece.subarray(0, most - this.size)
    const end = this.size + part.byteLength
    if (this.size === 0) this.buffer = part
    else if (part.byteLength > 0) {
      if (end > this.buffer.byteLength) this.grow(end)
      this.buffer.set(part, this.size)
    }
    this.size = end
    return this.received <= maxSwallowedBytes && this.refusal === undefined
  }

  /** The received bytes, at most `maxBodyBytes + 1`. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.size)
  }

  /** The reason why the body is refused without reading it. */
  get refusal(): Refusal | undefined {
    return this.pieces > maxBodyPieces ? fragmented : undefined
  }

  private grow(size: number): void {
    const larger = new Uint8Array(Math.min(most, Math.max(1024, 2 * size)))
    larger.set(this.bytes)
    this.buffer = larger
  }
}

const fragmented = new Fragmented({ most: maxBodyPieces })

const empty = new Uint8Array()

/** Whether the head of the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** Called with the body, up to one byte over the limit, and the reason to refuse it, or when it is late. */
export interface Reader {
  readonly onBody: (body: Uint8Array, refusal?: Refusal) => void
  readonly onTimeout: () => void
}

/**
 * Calls one of both callbacks once, or neither if the client disconnects. A body that is refused or late is not read
 * further: answer, then destroy the socket. Most bodies arrive in one packet with the head and need no event. Chunked
 * bodies need one event per chunk, because chunks are counted. `timeout` is in milliseconds.
 */
export const readBody = (incoming: IncomingMessage, timeout: number, reader: Reader): void => {
  if (!hasBody(incoming)) return reader.onBody(empty)
  process.nextTick(() => {
    const isHere = incoming.complete && incoming.readableFlowing === null &&
      incoming.headers["transfer-encoding"] === undefined
    const whole: Buffer | null = isHere ? incoming.read() : null
    if (whole === null) return collectBody(incoming, timeout, reader)
    const body = new Body()
    body.add(whole)
    reader.onBody(body.bytes)
  })
}

/** Collects the pieces until the end. */
const collectBody = (incoming: IncomingMessage, timeout: number, { onBody, onTimeout }: Reader): void => {
  const body = new Body()

  const stop = (): void => {
    clearTimeout(timer)
    incoming.off("data", collect).off("end", finish).off("close", stop)
  }
  const finish = (): void => {
    stop()
    onBody(body.bytes, body.refusal)
  }
  const collect = (piece: Buffer): void => {
    if (body.add(piece)) return
    // Nobody reads the rest: draining it would cost what the client chooses to send.
    incoming.pause()
    finish()
  }
  const timer = setTimeout(() => {
    incoming.pause()
    stop()
    onTimeout()
  }, timeout)
  incoming.on("data", collect).on("end", finish).on("close", stop).on("error", ignore)
}

/** `close` reports a broken connection. */
const ignore = (): void => {}

/**
 * The time limit of the present request of a connection. The connection has one timer: one for each request took a tenth of a
 * check of a token on PostgreSQL. Times are in milliseconds.
 */
class Deadline {
  #timer: NodeJS.Timeout | undefined
  /** When the timer ends, by the monotonic clock. */
  #timerEnds = 0
  /** When the time of the present request ends. */
  #ends = 0
  #onTime: (() => void) | undefined

  begin(millis: number, onTime: () => void): void {
    this.#onTime = onTime
    this.#ends = performance.now() + millis
    if (this.#timer === undefined || this.#ends < this.#timerEnds) this.#start(millis)
  }

  /** The request with this callback has ended. An interrupted one may end during the next one of its connection. */
  end(onTime: () => void): void {
    if (this.#onTime === onTime) this.#onTime = undefined
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #start(millis: number): void {
    clearTimeout(this.#timer)
    this.#timerEnds = performance.now() + millis
    this.#timer = setTimeout(() => this.#check(), millis).unref()
  }

  #check(): void {
    this.#timer = undefined
    if (this.#onTime === undefined) return
    const left = this.#ends - performance.now()
    if (left >= 1) return this.#start(left)
    // If the process was busy, first take the results that are waiting.
    setImmediate(this.#onTime)
  }
}

/** Makes the function that finds the deadline of a connection. */
export const makeDeadlines = (): (socket: Socket) => Deadline => {
  const deadlines = new WeakMap<Socket, Deadline>()
  return (socket) => {
    const known = deadlines.get(socket)
    if (known !== undefined) return known
    const deadline = new Deadline()
    deadlines.set(socket, deadline)
    socket.once("close", () => deadline.close())
    return deadline
  }
}

/** Reads a stream to its end, to its limit, or until the signal, and then cancels it. Rejects if the stream breaks. */
export const readStream = async (stream: ReadableStream<Uint8Array> | null, signal: AbortSignal): Promise<Body> => {
  const body = new Body()
  if (stream === null) return body
  const reader = stream.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener("abort", stop, { once: true })
  while (true) {
    const { done, value } = await reader.read()
    if (done) return body
    if (body.add(value)) continue
    stop()
    return body
  }
}
