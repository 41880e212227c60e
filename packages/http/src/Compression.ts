/** Compresses responses with gzip (`CompressionStream`). A runtime without it sends them uncompressed. */
import * as Effect from "effect/Effect"
import { header, type Request, type Response } from "./Http.ts"

/** Minimum size of a compressed body in bytes. A smaller one fits into one packet anyway. */
const minBytes = 1024

const compressible = /^(?:text\/|image\/svg|application\/json)/

const utf8 = new TextEncoder()

const gzip = (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const stream = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new globalThis.Response(stream).arrayBuffer())
  })

/** Whether the client accepts gzip (RFC 9110 §12.5.3). A weight of 0 refuses it. */
const acceptsGzip = (request: Pick<Request, "headers">): boolean => {
  const weights = new Map<string, number>()
  for (const range of (header(request, "accept-encoding") ?? "").slice(0, 1000).toLowerCase().split(",")) {
    const [coding = "", weight = "q=1"] = range.split(";").map((part) => part.trim())
    weights.set(coding, Number(weight.slice(2)))
  }
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0
}

/**
 * Whether another site cannot have caused this request with the cookies of a user. If it can, the length of a compressed
 * page tells that site, guess by guess, what the page contains besides the address that it chose (BREACH).
 */
const isOwnRequest = (request: Pick<Request, "headers">): boolean => {
  const site = header(request, "sec-fetch-site")
  return site === undefined ? (header(request, "cookie") ?? "") === "" : site === "same-origin" || site === "none"
}

const isPrivate = ({ headers }: Response): boolean => headers["cache-control"] === "no-store"

/**
 * Compresses a response if the client accepts it and the body is large enough. A `no-store` response may contain
 * secrets, so it is compressed only if no other site can have caused the request.
 */
export type Compress = (request: Request, response: Response) => Effect.Effect<Response>

/** Makes the compression. It compresses bytes that many responses share (style sheet, API reference) only once. */
export const make = (): Compress => {
  const shared = new WeakMap<Uint8Array, Uint8Array>()

  const compressed = (body: Response["body"]): Effect.Effect<Uint8Array> => {
    if (typeof body === "string") return gzip(utf8.encode(body))
    const known = shared.get(body)
    return known === undefined
      ? Effect.tap(gzip(body), (bytes) => Effect.sync(() => shared.set(body, bytes)))
      : Effect.succeed(known)
  }

  return (request, response) => {
    const { body, headers, status } = response
    if (!compressible.test(String(headers["content-type"])) || headers["content-encoding"] !== undefined) {
      return Effect.succeed(response)
    }
    const secret = isPrivate(response)
    const vary = [headers["vary"] ?? [], "Accept-Encoding", secret ? ["Cookie", "Sec-Fetch-Site"] : []].flat().join(
      ", "
    )
    const isWanted = body.length >= minBytes && acceptsGzip(request) && (!secret || isOwnRequest(request)) &&
      typeof CompressionStream !== "undefined"
    return isWanted
      ? Effect.map(
        compressed(body),
        (bytes) => ({ status, headers: { ...headers, "content-encoding": "gzip", vary }, body: bytes })
      )
      : Effect.succeed({ ...response, headers: { ...headers, vary } })
  }
}
