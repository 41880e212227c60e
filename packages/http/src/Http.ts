/** Requests and responses as plain values, independent of the server. */
import type * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import type { Refusal } from "./Refusal.ts"

/** A request from a binding. Nothing in it has been decoded or checked yet. */
export interface Request {
  /** As on the wire: `GET`, `POST`, … */
  readonly method: string
  /** The raw path, still percent-encoded, without the query. */
  readonly path: string
  /** The raw query without `?`, empty if missing. Contains credentials: never log it. */
  readonly query: string
  /** By lower-case name. Repeated headers as the server joined them. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** At most `maxBodyBytes + 1` bytes: a binding stops reading there, and the endpoint answers 413. */
  readonly body: Uint8Array
  /** The address of the client, behind the proxies that the operator trusts; for limits and the audit only. */
  readonly address: string
  /** Identifier of the request in the log and on error pages. Default: the header `X-Request-Id`. */
  readonly id?: string
  /**
   * The reason if the binding refuses this request. The router answers in the format of the route, and calls no
   * endpoint.
   */
  readonly refusal?: Refusal
  /** Called with the application that has proven, by its secret or a token, to send this request. For log and metrics. */
  readonly onApplication?: (id: ApplicationId) => void
}

/** A response, complete: bindings add nothing to it but `Content-Length` and `Date`. */
export interface Response {
  readonly status: number
  /** By lower-case name; several values (`set-cookie`) as an array. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Text is sent as UTF-8. */
  readonly body: string | Uint8Array
}

/** Whether a response with this status has content, and so a `Content-Length` (RFC 9110 §8.6, §15.4.5). */
export const hasContent = (status: number): boolean => status !== 204 && status !== 304

/** A response with more headers. Not by a spread: on Node 20, a spread that adds properties takes ten times as long. */
export const withHeaders = ({ body, headers, status }: Response, added: Response["headers"]): Response => ({
  status,
  headers: Object.assign({}, headers, added),
  body
})

/** See Other: the browser always continues with a GET (RFC 9700 §4.12). */
export const redirect = (location: string, extra: Response["headers"] = {}): Response => ({
  status: 303,
  headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer", ...extra },
  body: ""
})

/** Answers every request: never fails, and dies only by a bug. It must refuse a request that has a `refusal`. */
export interface Handler {
  (request: Request): Effect.Effect<Response>
  /** Whether the body may matter to the answer. A binding may hand over an empty one if not. Default: always. */
  readonly readsBody?: (head: Pick<Request, "method" | "path">) => boolean
}

/** The largest request body (64 KiB). */
export const maxBodyBytes = 65_536

/** Maximum part of a too large body to read before responding (1 MiB): a client may not read while it sends. */
export const maxSwallowedBytes = 1_048_576

/** Maximum number of pieces (chunks, packets) in which a body may arrive. */
export const maxBodyPieces = 1024

/** Maximum number of header lines. Node silently drops lines after its own, larger maximum. */
export const maxHeaders = 100

/** The value of a header that may occur only once. The first one if it was repeated. */
export const header = (request: Pick<Request, "headers">, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === "string" || value === undefined ? value : value[0]
}

/** Format of a request identifier. It goes into the log unchanged. */
const requestId = /^[\w.:=+/-]{1,128}$/

/** The request identifier that this server, its proxy or the client has set. */
export const idOf = (request: Pick<Request, "headers" | "id">): string | undefined => {
  const id = request.id ?? header(request, "x-request-id")
  return id !== undefined && requestId.test(id) ? id : undefined
}

/**
 * The credentials behind `scheme` in the `Authorization` header (RFC 9110 §11.4), empty if the header has only a
 * scheme; `undefined` if the header is missing or has another scheme. The scheme is compared without case.
 */
export const credentials = (request: Pick<Request, "headers">, scheme: string): string | undefined => {
  const authorization = header(request, "authorization")?.trim()
  if (authorization?.slice(0, scheme.length).toLowerCase() !== scheme.toLowerCase()) return undefined
  const rest = authorization.slice(scheme.length)
  return rest === "" || rest.startsWith(" ") ? rest.trim() : undefined
}
