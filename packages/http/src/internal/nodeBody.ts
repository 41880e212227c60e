/** Reading the body of a `node:http` request, up to a limit of size and time. */
import { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { maxBodyBytes, maxSwallowedBytes } from "../Message.ts"

const empty = new Uint8Array()

/** Whether the head of the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/**
 * Calls one of both, once; neither if the client goes away before. The body is cut one byte behind the limit.
 */
export const readBody = (
  incoming: IncomingMessage,
  timeout: number,
  { onBody, onTimeout }: { readonly onBody: (body: Uint8Array) => void; readonly onTimeout: () => void }
): void => {
  if (!hasBody(incoming)) return onBody(empty)
  const chunks: Array<Buffer> = []
  let size = 0

  const stop = (): void => {
    clearTimeout(timer)
    incoming.off("data", collect).off("end", finish).off("close", stop)
  }
  const finish = (): void => {
    stop()
    const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    onBody(body.length > maxBodyBytes ? body.subarray(0, maxBodyBytes + 1) : body)
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

/** A connection that breaks is reported by `close`. */
const ignore = (): void => {}
