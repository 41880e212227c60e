/** The server of a fake: its control plane, and the service with a record of all requests. */
import { BodyRefused, readBody } from "@startlist/client/Body"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import { isIP } from "node:net"
import { InvalidControl } from "./Controls.ts"
import type { Traffic } from "./Faults.ts"

/** A listening server. */
export interface Listening {
  readonly server: Server
  readonly port: number
  /** Starts to serve with this listener, including earlier requests, which have waited. */
  readonly serve: (listener: RequestListener) => void
}

/** Listens, before it is known how to serve: the service needs to know its port. Rejects if the port is in use. */
export const open = async (port: number, host: string): Promise<Listening> => {
  let serve: Listening["serve"] = () => {}
  const listener = new Promise<RequestListener>((resolve) => {
    serve = resolve
  })
  const server = createServer((incoming, outgoing) => {
    listener.then((answer) => answer(incoming, outgoing))
  })
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const { about, message } = NodeHttp.whyNotListening(error, host, port)
      reject(new InvalidControl(about, message))
    }
    server.once("error", fail).listen(port, host, resolve)
  })
  const address = server.address()
  return { server, serve, port: typeof address === "object" && address !== null ? address.port : port }
}

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "")
  return headers
}

const write = async (outgoing: ServerResponse, response: Response): Promise<void> => {
  const cookies = response.headers.getSetCookie()
  const headers = Object.fromEntries(response.headers)
  const body = Buffer.from(await response.arrayBuffer())
  outgoing.writeHead(response.status, {
    ...headers,
    ...(cookies.length === 0 ? {} : { "set-cookie": cookies }),
    ...(response.status === 204 ? {} : { "content-length": String(body.length) })
  })
  outgoing.end(body)
}

const unavailable = () =>
  Response.json({
    error: "temporarily_unavailable",
    error_description: "the fake is unavailable because of a planned fault"
  }, {
    status: 503,
    headers: { "retry-after": "1" }
  })

/** The last answer of a connection. The rest of its request is not read. */
const refusal = (status: number, message: string) =>
  Response.json({ message }, { status, headers: { connection: "close" } })

/** Maximum number of bytes of a body in the record, which the service would not accept more of either. */
const maxRecordedBytes = 65_536

/** Name (in lower case) or address of a `Host` header. Undefined for anything else. */
const hostOf = (header: string): string | undefined => {
  const url = URL.canParse(`http://${header}`) ? new URL(`http://${header}`) : undefined
  return url?.href === `http://${url?.host}/` ? url.hostname.replace(/^\[(.*)\]$/, "$1") : undefined
}

/** What the fake serves. */
export interface Options {
  readonly url: string
  /** Names of the fake, besides `localhost`. */
  readonly names: ReadonlyArray<string>
  readonly handler: (request: Request, connection: { readonly address?: string | undefined }) => Promise<Response>
  readonly control: (request: Request) => Promise<Response>
  readonly traffic: Traffic
  readonly now: () => number
}

/** Serves requests to own names, with bodies of at most 1 MiB. */
export const make = ({ control, handler, names, now, traffic, url }: Options): RequestListener => {
  const own = new Set(names.map((name) => name.toLowerCase()))

  /** By an address or an own name. Any other name may have been pointed here by the page that a browser shows. */
  const isOwn = (host: string | undefined): boolean =>
    host !== undefined && (isIP(host) !== 0 || host === "localhost" || own.has(host))

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "GET", url: target = "/" } = incoming
    const { host = new URL(url).host } = incoming.headers
    if (!isOwn(hostOf(host))) {
      const message = `the fake does not serve the host ${
        JSON.stringify(host)
      }: use ${url}, or add it to the option names`
      return write(outgoing, refusal(421, message))
    }
    const body = await readBody(incoming)
    const hasBody = method !== "GET" && method !== "HEAD" && body.length > 0
    const headers = headersOf(incoming)
    const path = target.split("?", 1)[0] ?? ""
    const requested = (base: string) =>
      new Request(new URL(path.startsWith("/") ? target : "/", base), { method, headers, ...(hasBody ? { body } : {}) })
    if (path === "/fake" || path.startsWith("/fake/")) {
      return write(outgoing, await control(requested(`http://${host}`)))
    }
    if (path === "/readyz" || path === "/healthz") return write(outgoing, Response.json({ status: "ok" }))
    const at = now()
    const planned = traffic.take(path)
    const response = planned?.fault === "unavailable"
      ? unavailable()
      : await handler(requested(url), { address: incoming.socket.remoteAddress })
    traffic.record({
      at,
      method,
      target,
      headers: Object.fromEntries(headers),
      body: Buffer.from(body.subarray(0, maxRecordedBytes)).toString(),
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
    serve(incoming, outgoing).catch((error) => {
      if (error instanceof BodyRefused) return write(outgoing, refusal(error.status, error.message))
      return void incoming.socket.destroy()
    })
  }
}
