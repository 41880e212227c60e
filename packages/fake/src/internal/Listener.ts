/** Serves the fake: its control plane, and the service with a record of all requests. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Traffic } from "./Traffic.ts"

/** Maximum size of a body (1 MiB). The service refuses far smaller ones. */
const maxBytes = 1_048_576

const bodyOf = async (incoming: IncomingMessage): Promise<Buffer> => {
  const pieces: Array<Buffer> = []
  let size = 0
  for await (const piece of incoming) {
    const bytes: Buffer = piece
    size += bytes.length
    if (size <= maxBytes) pieces.push(bytes)
  }
  return Buffer.concat(pieces)
}

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "")
  return headers
}

const write = async (outgoing: ServerResponse, response: Response): Promise<void> => {
  const cookies = response.headers.getSetCookie()
  const headers = Object.fromEntries(response.headers)
  outgoing.writeHead(response.status, cookies.length === 0 ? headers : { ...headers, "set-cookie": cookies })
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}

const unavailable = () =>
  Response.json({
    error: "temporarily_unavailable",
    error_description: "the fake is unavailable because of a planned fault"
  }, {
    status: 503,
    headers: { "retry-after": "1" }
  })

export interface Options {
  readonly url: string
  readonly handler: (request: Request, connection: { readonly address?: string | undefined }) => Promise<Response>
  readonly control: (request: Request) => Promise<Response>
  readonly traffic: Traffic
  readonly now: () => number
}

export const make = ({ control, handler, now, traffic, url }: Options): RequestListener => {
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "GET", url: target = "/" } = incoming
    const body = await bodyOf(incoming)
    const hasBody = method !== "GET" && method !== "HEAD" && body.length > 0
    const headers = headersOf(incoming)
    const path = target.split("?", 1)[0] ?? ""
    const request = new Request(new URL(path.startsWith("/") ? target : "/", url), {
      method,
      headers,
      ...(hasBody ? { body: new Uint8Array(body) } : {})
    })
    if (path === "/fake" || path.startsWith("/fake/")) return write(outgoing, await control(request))
    if (path === "/readyz" || path === "/healthz") return write(outgoing, Response.json({ status: "ok" }))
    const at = now()
    const planned = traffic.take(path)
    const response = planned?.fault === "unavailable"
      ? unavailable()
      : await handler(request, { address: incoming.socket.remoteAddress })
    traffic.record({
      at,
      method,
      target,
      headers: Object.fromEntries(headers),
      body: body.toString(),
      status: response.status,
      ...(planned === undefined ? {} : { fault: planned.fault })
    })
    if (planned?.fault === "lost") return void incoming.socket.destroy()
    // By the clock of the fake, like all times in its responses.
    outgoing.setHeader("date", new Date(now()).toUTCString())
    if (planned?.fault === "slow") await new Promise((resolve) => void setTimeout(resolve, planned.delay))
    await write(outgoing, response)
  }
  return (incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => void incoming.socket.destroy())
  }
}
