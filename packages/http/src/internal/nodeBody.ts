/** Reads the body of a `node:http` request, with limits of size and time. */
import type { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { Refusal } from "../Refusal.ts"
import { Body } from "./body.ts"

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
 * Calls one of both callbacks once, or neither if the client disconnects. Most bodies arrive in one packet with the
 * head and need no event. Chunked bodies need one event per chunk, because chunks are counted.
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
    if (!body.add(piece)) finish()
  }
  const timer = setTimeout(() => {
    stop()
    onTimeout()
  }, timeout)
  incoming.on("data", collect).on("end", finish).on("close", stop).on("error", ignore)
}

/** `close` reports a broken connection. */
const ignore = (): void => {}
