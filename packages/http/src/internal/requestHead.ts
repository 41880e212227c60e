/** The head of a request: its target, checks before its contents are used, and the responses that a binding itself gives. */
import { maxHeaders, maxSwallowedBytes, type Response } from "../Http.ts"
import { Malformed, type Refusal, Repeated, TooLarge, TooManyHeaders } from "../Refusal.ts"

/** Headers that may occur only once. If repeated, Node uses the first and other servers the last (RFC 9110 §5.3). */
const single: ReadonlyMap<string, string> = new Map(
  ["Authorization", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Origin"].map((name) =>
    [name.toLowerCase(), name] as const
  )
)
const lengths = new Set([...single.keys()].map((name) => name.length))

/** Headers whose value has no comma. A server that joins repeated headers adds one. */
const withoutComma = new Set(["content-length", "content-type", "host", "origin"])

/** A host and a port (RFC 9112 §3.2), or nothing. */
const host = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d{0,5})?$/i

/** Checks names and values in turn, as in Node's `rawHeaders`. */
export const refusalOf = (headers: ReadonlyArray<string>): Refusal | undefined => {
  if (headers.length / 2 > maxHeaders) return new TooManyHeaders({ most: maxHeaders })
  let seen = ""
  for (let i = 0; i < headers.length; i += 2) {
    const raw = headers[i] ?? ""
    if (!lengths.has(raw.length)) continue
    const lower = raw.toLowerCase()
    const name = single.get(lower)
    if (name === undefined) continue
    const isJoined = withoutComma.has(lower) && headers[i + 1]?.includes(",") === true
    if (isJoined || seen.includes(`${lower} `)) return new Repeated({ name: `the header ${name}` })
    if (lower === "host" && !host.test(headers[i + 1] ?? "")) return new Malformed({ what: "header Host" })
    seen += `${lower} `
  }
  return undefined
}

/** Refuses a body whose announced length is more than is ever read, even to drain it. */
export const refusalOfLength = (contentLength: string | null): Refusal | undefined =>
  Number(contentLength ?? 0) > maxSwallowedBytes ? new TooLarge() : undefined

/** The parts of a request target: the raw path, and the raw query without `?`. */
export interface Target {
  readonly path: string
  readonly query: string
}

/** Splits a target. Proxies may send an absolute one (RFC 9112 §3.2.2), and a Web `Request` always has one. */
export const parseTarget = (target: string): Target => {
  const local = toOriginForm(target)
  const mark = local.indexOf("?")
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) }
}

/** Removes scheme and host of an absolute target. */
const toOriginForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/^(?=$|\?)/, "/")

const noStore = { "cache-control": "no-store" }

/** The body did not arrive in time (RFC 9110 §15.5.9). */
export const tooLate: Response = { status: 408, headers: noStore, body: "" }

/** The request took too long and was interrupted. */
export const tooSlow: Response = { status: 503, headers: { ...noStore, "retry-after": "5" }, body: "" }

/** A bug, which is logged. */
export const broken: Response = { status: 500, headers: noStore, body: "" }

/** Logged if other middleware has read a body: its parsed value is not the sent bytes. */
export const readBefore = "the body of a request was read before Startlist: register body parsers after Startlist"
