/** Reads a body into one buffer, with limits of size, pieces and time. */
import type { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { maxBodyBytes, maxBodyPieces, maxSwallowedBytes } from "../Http.ts"
import { Fragmented, type Refusal } from "../Refusal.ts"

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
