/**
 * Reads bodies from strangers: into one buffer, with limits of size, pieces and time. For receivers of events, and for
 * your own routes with `node:http` or Express.
 */
import type { IncomingMessage } from "node:http"

/** Limits of a body. */
export interface Limits {
  /** Bytes. Default: 1 MiB. */
  readonly maxBytes?: number
  /** Pieces, each of which costs as much as many bytes. Default: 1,024. */
  readonly maxPieces?: number
  /** Milliseconds until the body must be complete. Default: 10 seconds. */
  readonly timeout?: number
}

/**
 * The body exceeds a limit, and the rest of it is unread. Answer with `status` and `Connection: close`: what is unread
 * cannot be told from the next request.
 */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused"
  /** 408 for a body that was late, 413 for any other. */
  readonly status: 408 | 413
  constructor(status: 408 | 413, message: string) {
    super(message)
    this.status = status
  }
}

/** Collects pieces in one buffer, and copies them: each piece is an object of its own, however small it is. */
class Collected {
  readonly #maxBytes: number
  readonly #maxPieces: number
  #buffer = new Uint8Array(0)
  #size = 0
  #pieces = 0

  constructor({ maxBytes = 1_048_576, maxPieces = 1024 }: Limits) {
    this.#maxBytes = maxBytes
    this.#maxPieces = maxPieces
  }

  /** Throws `BodyRefused`. */
  add(piece: Uint8Array): void {
    const size = this.#size + piece.length
    if (size > this.#maxBytes) throw new BodyRefused(413, `the body is larger than ${this.#maxBytes} bytes`)
    this.#pieces++
    if (this.#pieces > this.#maxPieces) {
      throw new BodyRefused(413, `the body arrives in more than ${this.#maxPieces} pieces`)
    }
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(1024, 2 * size)))
      larger.set(this.bytes)
      this.#buffer = larger
    }
    this.#buffer.set(piece, this.#size)
    this.#size = size
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#size)
  }
}

const late = () => new BodyRefused(408, "the body did not arrive in time")

/**
 * Reads the body of a request of `node:http`. Rejects with `BodyRefused`, or with an error if the client disconnects.
 *
 * @example
 * ```ts
 * import { BodyRefused, readBody } from "@startlist/client/Body"
 * import { createServer } from "node:http"
 *
 * createServer(async (request, response) => {
 *   try {
 *     const body = await readBody(request, { maxBytes: 65_536 })
 *     response.end(`${body.length} bytes`)
 *   } catch (error) {
 *     if (error instanceof BodyRefused) response.writeHead(error.status, { connection: "close" }).end()
 *     else response.destroy()
 *   }
 * })
 * ```
 */
export const readBody = (incoming: IncomingMessage, limits: Limits = {}): Promise<Uint8Array<ArrayBuffer>> =>
  new Promise((resolve, reject) => {
    const collected = new Collected(limits)
    const stop = () => {
      clearTimeout(timer)
      incoming.off("data", onData).off("end", onEnd).off("close", onClose).pause()
    }
    const fail = (error: unknown) => {
      stop()
      reject(error)
    }
    const onData = (piece: Uint8Array) => {
      try {
        collected.add(piece)
      } catch (refused) {
        fail(refused)
      }
    }
    const onEnd = () => {
      stop()
      resolve(collected.bytes)
    }
    const onClose = () => fail(new Error("the connection was closed before the body was complete"))
    const timer = setTimeout(() => fail(late()), limits.timeout ?? 10_000)
    if (incoming.destroyed && !incoming.readableEnded) return onClose()
    // `close` reports a broken connection.
    incoming.on("data", onData).on("end", onEnd).on("close", onClose).on("error", () => {})
  })

/** Reads the body of a `Request` or `Response`, and cancels what it does not read. Rejects as `readBody` does. */
export const readStream = async (
  stream: ReadableStream<Uint8Array> | null,
  limits: Limits = {}
): Promise<Uint8Array<ArrayBuffer>> => {
  const collected = new Collected(limits)
  if (stream === null) return collected.bytes
  const reader = stream.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    cancel()
  }, limits.timeout ?? 10_000)
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (isLate) throw late()
      if (done) return collected.bytes
      collected.add(value)
    }
  } catch (error) {
    cancel()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
