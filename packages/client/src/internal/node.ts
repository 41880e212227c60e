/** Requests of `node:http` and Express, for a `fetch` handler. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { maxBytes } from "./body.ts"

/** Fails if a body parser was there before. */
export const serveNode = async (
  answer: (request: Request) => Promise<Response>,
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
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature", "startlist-sequence"]) {
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
