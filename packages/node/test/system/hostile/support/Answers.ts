/** Reads responses strictly, as a careful client does (RFC 9112). */

export interface Answer {
  readonly status: number
  /** By lower-case name, in the order of their appearance. */
  readonly headers: ReadonlyMap<string, ReadonlyArray<string>>
  readonly body: string
}

/** Bytes that are not a valid response. */
export class Unreadable extends Error {}

const statusLine = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e]*$/
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/

const readHeaders = (lines: ReadonlyArray<string>): Map<string, Array<string>> => {
  const headers = new Map<string, Array<string>>()
  for (const line of lines) {
    const [, name, value] = field.exec(line) ?? []
    if (name === undefined || value === undefined) throw new Unreadable(`no header: ${JSON.stringify(line)}`)
    const values = headers.get(name.toLowerCase()) ?? []
    headers.set(name.toLowerCase(), [...values, value])
  }
  return headers
}

const lengthOf = (status: number, method: string, headers: ReadonlyMap<string, ReadonlyArray<string>>): number => {
  const lengths = headers.get("content-length") ?? []
  if (lengths.length > 1 || lengths.some((length) => !/^\d+$/.test(length))) throw new Unreadable("Content-Length")
  if (method === "HEAD" || status === 204 || status === 304 || status < 200) return 0
  return Number(lengths[0] ?? 0)
}

/** Only Node's own refusals are chunked, and have no body. */
const nothing = "0\r\n\r\n"

/** The final responses, to requests with these methods in this order. Throws `Unreadable`. */
export const readAnswers = (received: Buffer, methods: ReadonlyArray<string>): ReadonlyArray<Answer> => {
  const answers: Array<Answer> = []
  let rest = received
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n")
    if (end < 0) throw new Unreadable(`the end of a head is missing: ${JSON.stringify(rest.toString("latin1"))}`)
    const [first = "", ...lines] = rest.toString("latin1", 0, end).split("\r\n")
    const [, code] = statusLine.exec(first) ?? []
    if (code === undefined) throw new Unreadable(`no status line: ${JSON.stringify(first)}`)
    const status = Number(code)
    const headers = readHeaders(lines)
    const isChunked = headers.has("transfer-encoding")
    if (isChunked && rest.toString("latin1", end + 4, end + 9) !== nothing) throw new Unreadable("a chunked response")
    const length = isChunked ? nothing.length : lengthOf(status, methods[answers.length] ?? "GET", headers)
    if (rest.length < end + 4 + length) throw new Unreadable(`the body of a ${status} is cut`)
    const body = isChunked ? "" : rest.toString("utf8", end + 4, end + 4 + length)
    if (status >= 200) answers.push({ status, headers, body })
    rest = rest.subarray(end + 4 + length)
  }
  return answers
}
