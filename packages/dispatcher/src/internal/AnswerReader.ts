/**
 * Reads the answers on a connection as HTTP/1.1 (RFC 9112), strictly and with limits. The bytes come from strangers:
 * each violation is an `UnreadableAnswer`, never a bug of this program.
 *
 * Not a library: an assertion of undici that a status of `000` reached made Node 20 parse the whole bundle to name it,
 * and a request with `node:http` takes more than twice the processor time.
 */

/** Why an answer cannot be read. `incomplete`: the connection ended first. */
export type Violation = "malformed" | "head_too_large" | "too_large" | "too_many_interim" | "incomplete"

/** The answer cannot be read, and the connection cannot be used again. */
export class UnreadableAnswer extends Error {
  readonly code: Violation
  constructor(code: Violation) {
    super(code)
    this.code = code
  }
}

/** Status and headers of an answer. */
export interface Head {
  readonly status: number
  /** By lower-case name. Values of a repeated field are joined (RFC 9110 §5.3). */
  readonly headers: ReadonlyMap<string, string>
}

/** Gets the parts of the final answer. */
export interface Sink {
  readonly onHead: (head: Head) => void
  readonly onBody: (piece: Buffer) => void
  /** The answer is complete. `keptMillis` is the time for which the receiver keeps the connection: 0 if it cannot be used again. */
  readonly onEnd: (keptMillis: number) => void
}

/** Maximum size in bytes of a head, of a chunk's first line, and of trailers. */
const maxHeadBytes = 16 * 1024

/** Maximum number of interim answers, such as 100 Continue. Servers send at most two or three. */
const maxInterim = 8

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const fieldName = /^[\w!#$%&'*+.^`|~-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/
const chunkSize = /^([\da-f]{1,12})[\t ]*(?:;.*)?$/i

type State = "status" | "fields" | "sized" | "until close" | "chunk size" | "chunk" | "chunk end" | "trailers" | "end"

/** The reader of one connection, for one answer after the other. */
export class AnswerReader {
  readonly #sink: Sink
  #state: State = "status"
  /** The beginning of a line whose end has not arrived. */
  #line = ""
  /** Bytes of the present head, chunk line or trailers. */
  #size = 0
  #interim = 0
  #isHttp11 = true
  #status = 0
  #headers = new Map<string, string>()
  #field = ""
  /** Missing bytes of the body or of the chunk. */
  #left = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Reads the next bytes. Throws `UnreadableAnswer`. */
  read(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && this.#state !== "end") {
      const isBody = this.#state === "sized" || this.#state === "chunk" || this.#state === "until close"
      at = isBody ? this.#readBody(bytes, at) : this.#readLine(bytes, at)
    }
    if (this.#state === "end") this.#finish(at === bytes.length ? this.#keptMillis() : 0)
  }

  /** The connection has ended, which completes an answer without a length. Throws `UnreadableAnswer` for any other. */
  end(): void {
    if (this.#state !== "until close") throw new UnreadableAnswer("incomplete")
    this.#finish(0)
  }

  #finish(keptMillis: number): void {
    this.#begin()
    this.#interim = 0
    this.#sink.onEnd(keptMillis)
  }

  /** Prepares for the next head. */
  #begin(): void {
    this.#state = "status"
    this.#size = 0
    this.#headers = new Map()
    this.#field = ""
  }

  /** Reads to the end of the line. Returns the place behind it. */
  #readLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(10, from)
    const to = end < 0 ? bytes.length : end
    this.#size += to - from + 1
    if (this.#size > maxHeadBytes) throw new UnreadableAnswer("head_too_large")
    this.#line += bytes.toString("latin1", from, to)
    // Another protocol may never end its line.
    if (this.#state === "status" && !"HTTP/1.".startsWith(this.#line.slice(0, 7))) {
      throw new UnreadableAnswer("malformed")
    }
    if (end < 0) return to
    const line = this.#line
    this.#line = ""
    if (!line.endsWith("\r")) throw new UnreadableAnswer("malformed")
    this.#onLine(line.slice(0, -1))
    return end + 1
  }

  #onLine(line: string): void {
    switch (this.#state) {
      case "status":
        return this.#onStatus(line)
      case "fields":
        return line === "" ? this.#onHead() : this.#onField(line)
      case "chunk size":
        return this.#onChunk(line)
      case "chunk end":
        if (line !== "") throw new UnreadableAnswer("malformed")
        this.#size = 0
        this.#state = "chunk size"
        return
      default:
        if (line === "") this.#state = "end"
    }
  }

  #onStatus(line: string): void {
    const [, minor, status] = statusLine.exec(line) ?? []
    if (status === undefined) throw new UnreadableAnswer("malformed")
    this.#isHttp11 = minor === "1"
    this.#status = Number(status)
    this.#state = "fields"
  }

  #onField(line: string): void {
    const isContinued = line.startsWith(" ") || line.startsWith("\t")
    const colon = isContinued ? -1 : line.indexOf(":")
    const name = isContinued ? this.#field : line.slice(0, Math.max(0, colon)).toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (!fieldName.test(name) || !fieldValue.test(value)) throw new UnreadableAnswer("malformed")
    const present = this.#headers.get(name)
    const separator = isContinued ? " " : ", "
    this.#headers.set(name, present === undefined ? value : present + separator + value)
    this.#field = name
  }

  #onHead(): void {
    const head = { status: this.#status, headers: this.#headers }
    if (head.status >= 200) {
      this.#state = this.#framing(head)
      return this.#sink.onHead(head)
    }
    // We never ask for another protocol.
    if (head.status === 101) throw new UnreadableAnswer("malformed")
    this.#interim++
    if (this.#interim > maxInterim) throw new UnreadableAnswer("too_many_interim")
    this.#begin()
  }

  /** RFC 9112 §6.3. */
  #framing({ headers, status }: Head): State {
    const coding = headers.get("transfer-encoding")
    const length = headers.get("content-length")
    if (status === 204 || status === 304) return "end"
    if (coding !== undefined) {
      if (length !== undefined) throw new UnreadableAnswer("malformed")
      this.#size = 0
      return /(?:^|,)[\t ]*chunked$/i.test(coding) ? "chunk size" : "until close"
    }
    if (length === undefined) return "until close"
    if (!/^\d{1,15}$/.test(length)) throw new UnreadableAnswer("malformed")
    this.#left = Number(length)
    return this.#left === 0 ? "end" : "sized"
  }

  #onChunk(line: string): void {
    const [, size] = chunkSize.exec(line) ?? []
    if (size === undefined) throw new UnreadableAnswer("malformed")
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? "trailers" : "chunk"
  }

  #readBody(bytes: Buffer, from: number): number {
    if (this.#state === "until close") {
      this.#sink.onBody(bytes.subarray(from))
      return bytes.length
    }
    const to = Math.min(bytes.length, from + this.#left)
    this.#left -= to - from
    this.#sink.onBody(bytes.subarray(from, to))
    if (this.#left === 0) this.#state = this.#state === "sized" ? "end" : "chunk end"
    return to
  }

  #keptMillis(): number {
    if (!this.#isHttp11 || /\bclose\b/i.test(this.#headers.get("connection") ?? "")) return 0
    const [, seconds] = /\btimeout=(\d{1,9})/i.exec(this.#headers.get("keep-alive") ?? "") ?? []
    return seconds === undefined ? Infinity : 1000 * Number(seconds)
  }
}
