/**
 * Requests as data, with placeholders for live values (`{{access}}` for a valid access token). A counterexample is
 * short, contains no secret, and can be sent again to another service: the seed and the path of fast-check repeat it.
 */

export type Pairs = ReadonlyArray<readonly [name: string, value: string]>

export type Body =
  | { readonly _tag: "None" }
  | { readonly _tag: "Form"; readonly fields: Pairs }
  | { readonly _tag: "Json"; readonly value: unknown }
  /** Bytes, one a character. */
  | { readonly _tag: "Raw"; readonly text: string }

/** Framing of the body. `storm` sends one byte per chunk. Only the first three always define the end of the request. */
export type Framing = "length" | "chunked" | "storm" | "none" | "short" | "long" | "both" | "bad chunk" | "odd coding"

export interface Sent {
  readonly method: string
  readonly path: string
  readonly query: Pairs
  /** Bytes behind the query, as they are. */
  readonly tail: string
  readonly version: string
  readonly headers: Pairs
  readonly body: Body
  readonly framing: Framing
}

/** Values of the placeholders. Numbers replace the whole JSON value. */
export type Values = Readonly<Record<string, string | number>>

const substitute = (text: string, values: Values): string =>
  text.includes("{{") ? text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => String(values[name] ?? whole)) : text

const encode = (text: string): string => {
  try {
    return encodeURIComponent(text)
  } catch {
    // An unpaired surrogate has no encoding: the bytes that it would have had.
    return "%ED%A0%80"
  }
}

const urlencoded = (pairs: Pairs, values: Values): string =>
  pairs.map(([name, value]) => `${encode(substitute(name, values))}=${encode(substitute(value, values))}`).join("&")

const fill = (value: unknown, values: Values): unknown => {
  if (typeof value === "string") {
    const [, name = ""] = /^\{\{(\w+)\}\}$/.exec(value) ?? []
    return values[name] ?? substitute(value, values)
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, values)]))
}

const bodyOf = (body: Body, values: Values): Buffer => {
  switch (body._tag) {
    case "None":
      return Buffer.alloc(0)
    case "Form":
      return Buffer.from(urlencoded(body.fields, values))
    case "Json":
      return Buffer.from(JSON.stringify(fill(body.value, values)) ?? "")
    case "Raw":
      return Buffer.from(substitute(body.text, values), "latin1")
  }
}

const chunked = (body: Buffer, last: string): Buffer =>
  Buffer.concat([
    ...(body.length === 0 ? [] : [Buffer.from(`${body.length.toString(16)};x=y\r\n`), body, Buffer.from("\r\n")]),
    Buffer.from(last)
  ])

/** One byte in a chunk, for the beginning of the body, and the rest in another one. */
const stormed = (body: Buffer): Buffer => {
  const bytes = [...body.subarray(0, 20_000)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join("")
  return Buffer.concat([Buffer.from(bytes, "latin1"), chunked(body.subarray(20_000), "0\r\n\r\n")])
}

/** The headers for the length, and the body. */
const frame = (framing: Framing, body: Buffer): { readonly headers: Pairs; readonly bytes: Buffer } => {
  const length = (bytes: number): Pairs => [["Content-Length", String(Math.max(0, bytes))]]
  const coding = (name: string): Pairs => [["Transfer-Encoding", name]]
  switch (framing) {
    case "length":
      return { headers: body.length === 0 ? [] : length(body.length), bytes: body }
    case "chunked":
      return { headers: coding("chunked"), bytes: chunked(body, "0\r\nX-Trailer: 1\r\n\r\n") }
    case "storm":
      return { headers: coding("chunked"), bytes: stormed(body) }
    case "none":
      return { headers: [], bytes: body }
    case "short":
      return { headers: length(body.length - 1), bytes: body }
    case "long":
      return { headers: length(body.length + 7), bytes: body }
    case "both":
      return { headers: [...length(body.length), ...coding("chunked")], bytes: chunked(body, "0\r\n\r\n") }
    case "bad chunk":
      return { headers: coding("chunked"), bytes: Buffer.concat([Buffer.from("zz\r\n"), body, Buffer.from("\r\n")]) }
    case "odd coding":
      return { headers: coding("gzip, chunked, identity"), bytes: chunked(body, "0\r\n\r\n") }
  }
}

/** The bytes of a request. Text outside of bodies is sent as UTF-8. */
export const render = (request: Sent, values: Values): Buffer => {
  const query = urlencoded(request.query, values) + request.tail
  const target = substitute(request.path, values) + (query === "" ? "" : `?${query}`)
  const framed = frame(request.framing, bodyOf(request.body, values))
  const head = [...request.headers, ...framed.headers].map(([name, value]) =>
    `${name}: ${substitute(value, values)}\r\n`
  )
  return Buffer.concat([
    Buffer.from(`${request.method} ${target} ${request.version}\r\n${head.join("")}\r\n`),
    framed.bytes
  ])
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
const single = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer"]

/** Whether HTTP defines the end of this request unambiguously (RFC 9112). */
export const isWellFormed = (request: Sent, values: Values): boolean => {
  const head = render({ ...request, body: { _tag: "None" }, framing: "length" }, values)
  const names = request.headers.map(([name]) => name.toLowerCase())
  return methods.has(request.method) && request.version === "HTTP/1.1" &&
    (request.framing === "length" || request.framing === "chunked" || request.framing === "storm") &&
    head.length < 16_000 && request.headers.length < 95 &&
    bodyOf(request.body, values).length < (request.framing === "storm" ? 1000 : 1_000_000) &&
    /^\/[!-~]*$/.test(substitute(request.path, values)) && /^[!-~]*$/.test(request.tail) &&
    request.headers.every(([name, value]) =>
      /^[a-z-]+$/i.test(name) && /^(?:[!-~](?:[ !-~]*[!-~])?)?$/.test(substitute(value, values))
    ) &&
    names.filter((name) => name === "host").length === 1 &&
    single.slice(1).every((name) => !names.includes(name))
}
