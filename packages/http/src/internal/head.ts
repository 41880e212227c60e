/** Checks the head of a request before its contents are used. */
import { maxHeaders, maxSwallowedBytes } from "../Message.ts"
import { type Refusal, Repeated, TooLarge, TooManyHeaders } from "../Refusal.ts"

/** Headers that may occur only once. If repeated, Node uses the first and other servers the last (RFC 9110 §5.3). */
const single: ReadonlyMap<string, string> = new Map(
  ["Authorization", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Origin"].map((name) =>
    [name.toLowerCase(), name] as const
  )
)
const lengths = new Set([...single.keys()].map((name) => name.length))

/** Headers whose value has no comma. A server that joins repeated headers adds one. */
const withoutComma = new Set(["content-length", "content-type", "host", "origin"])

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
    seen += `${lower} `
  }
  return undefined
}

/** Refuses a body whose announced length is more than is ever read, even to drain it. */
export const refusalOfLength = (contentLength: string | null): Refusal | undefined =>
  Number(contentLength ?? 0) > maxSwallowedBytes ? new TooLarge() : undefined
