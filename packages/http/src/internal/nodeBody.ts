/** Reading the body of a `node:http` request, up to a limit of size and time. */
import { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { maxBodyBytes, maxSwallowedBytes } from "../Message.ts"

const empty = new Uint8Array()

/** Whether the head of the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** Called with the body, cut one byte behind the limit, or when it did not come in time. */
export interface Reader {
  readonly onBody: (body: Uint8Array) => void
  readonly onTimeout: () => void
}

/**
 * Calls one of both, once; neither if the client goes away before. Most bodies come in one packet with their head, and
 * are there when that is parsed: for these no event need be waited for.
 */
export const readBody = (incoming: IncomingMessage, timeout: number, reader: Reader): void => {
  if (!hasBody(incoming)) return reader.onBody(empty)
  process.nextTick(() => {
    const isHere = incoming.complete && incoming.readableFlowing === null
    const body: Buffer | null = isHere ? incoming.read() : null
    if (body === null) collectBody(incoming, timeout, reader)
    else reader.onBody(cut(body))
  })
}

/** Collects what comes until the end. */
const collectBody = (incoming: IncomingMessage, timeout: number, { onBody, onTimeout }: Reader): void => {
  const chunks: Array<Buffer> = []
  let size = 0

  const stop = (): void => {
    clearTimeout(timer)
    incoming.off("data", collect).off("end", finish).off("close", stop)
  }
  const finish = (): void => {
    stop()
    const [only, another] = chunks
    onBody(cut(only !== undefined && another === undefined ? only : Buffer.concat(chunks)))
  }
  const collect = (chunk: Buffer): void => {
    if (size <= maxBodyBytes) chunks.push(chunk)
    size += chunk.length
    if (size > maxSwallowedBytes) finish()
  }
  const timer = setTimeout(() => {
    stop()
    onTimeout()
  }, timeout)
  incoming.on("data", collect).on("end", finish).on("close", stop).on("error", ignore)
}

const cut = (body: Buffer): Buffer => body.length > maxBodyBytes ? body.subarray(0, maxBodyBytes + 1) : body

/** A connection that breaks is reported by `close`. */
const ignore = (): void => {}
