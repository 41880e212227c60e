/** One request to a callback and its outcome, with one deadline. Reads only a small part of the answer. */
import { Answer, broken } from "@startlist/core/Callbacks"
import * as Option from "effect/Option"
import type { CallbackUrl } from "../CallbackUrl.ts"
import type { Head } from "./AnswerReader.ts"
import type { Connection, Connections, Handler } from "./Connections.ts"
import {
  Beginning,
  type Content,
  excerptBytes,
  excerptOf,
  excerptWait,
  fromError,
  retryAfter,
  textOf,
  timedOut,
  wholeBytes
} from "./Messages.ts"

/** Read once: each access would create a new constructor. */
const { Answered } = Answer

/** Maximum size in bytes of a body without a meaning. Its rest is read and dropped, so that the connection can be reused. */
const droppedBytes = 16 * 1024

/**
 * Sends a request and calls `done` once, after at most `timeout` milliseconds for everything: lookup, connection, TLS,
 * request and answer. Returns a function that cancels the request: it frees the socket, and `done` is not called.
 */
export type Start = (url: CallbackUrl, content: Content, timeout: number, done: (answer: Answer) => void) => () => void

/** Exchanges over these connections. An exchange fails on a bug, which is also passed to `report`. */
export const make =
  (connections: Connections, report: (bug: unknown) => void): Start => (url, content, timeout, done) => {
    const exchange = new Exchange(connections.acquire(url), content, timeout, done, report)
    exchange.send(url)
    return () => exchange.abandon()
  }

class Exchange implements Handler {
  readonly #connection: Connection
  readonly #content: Content
  readonly #timeout: number
  readonly #done: (answer: Answer) => void
  readonly #report: (bug: unknown) => void
  readonly #startedAt = performance.now()
  #timer: NodeJS.Timeout
  #isOver = false
  #head: Head | undefined
  #afterMs = 0
  /** Whether the body decides, too. */
  #isWhole = false
  #body: Beginning

  constructor(
    connection: Connection,
    content: Content,
    timeout: number,
    done: (answer: Answer) => void,
    report: (bug: unknown) => void
  ) {
    this.#connection = connection
    this.#content = content
    this.#timeout = timeout
    this.#done = done
    this.#report = report
    this.#isWhole = content.reads === "whole"
    this.#body = new Beginning(this.#isWhole ? wholeBytes : excerptBytes)
    this.#timer = setTimeout(onTime, timeout, this)
  }

  /** Handles one event of the exchange. A bug in it must not end the process or another exchange. */
  #on(event: () => void): void {
    if (this.#isOver) return
    try {
      event()
    } catch (bug) {
      this.#report(bug)
      this.#end(broken, 0)
    }
  }

  send(url: CallbackUrl): void {
    this.#on(() => this.#connection.send(bytesOf(this.#content, url), this))
  }

  /** Sends nothing after the deadline: a process that was paused may find its connection ready long after it. */
  mayBegin(): boolean {
    if (performance.now() - this.#startedAt < this.#timeout) return true
    this.#on(() => this.#end(timedOut, 0))
    return false
  }

  onHead(head: Head): void {
    this.#on(() => {
      this.#afterMs = performance.now() - this.#startedAt
      if (this.#afterMs > this.#timeout) return this.#end(timedOut, 0)
      this.#head = head
      this.#isWhole &&= head.status === 200
      // Most answers are complete with their headers, and need no other timer.
      if (!this.#isWhole) queueMicrotask(() => this.#on(() => this.#awaitBody()))
    })
  }

  #awaitBody(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, excerptWait(this.#timeout - this.#afterMs), this)
  }

  onBody(piece: Buffer): void {
    this.#on(() => {
      this.#body.add(piece)
      if (this.#body.received > (this.#isWhole ? wholeBytes : droppedBytes)) this.#end(this.#answered(), 0)
    })
  }

  onEnd(keptMillis: number): void {
    this.#on(() => this.#end(this.#answered(), keptMillis))
  }

  onError(error: Error): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : fromError(error), 0))
  }

  /** Called at the deadline, or at the end of the wait for the rest of a body. */
  onTime(): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : timedOut, 0))
  }

  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#free(0)
  }

  #isDecided(): boolean {
    return this.#head !== undefined && !this.#isWhole
  }

  #end(answer: Answer, keptMillis: number): void {
    this.#isOver = true
    this.#free(keptMillis)
    this.#done(answer)
  }

  #free(keptMillis: number): void {
    clearTimeout(this.#timer)
    try {
      if (keptMillis > 0) this.#connection.release(keptMillis)
      else this.#connection.discard()
    } catch (bug) {
      this.#report(bug)
    }
  }

  #answered(): Answer {
    const { headers, status } = this.#head ?? { headers: new Map<string, string>(), status: 0 }
    const isTooLarge = this.#isWhole && this.#body.received > wholeBytes
    // Nothing is decompressed: a body with a content coding counts as empty.
    const bytes = isTooLarge || headers.has("content-encoding") ? noBytes : this.#body.bytes
    return Answered({
      afterMs: this.#afterMs,
      status,
      contentType: headers.get("content-type") ?? "",
      body: this.#isWhole ? textOf(bytes) : excerptOf(bytes),
      retryAfter: Option.flatMap(
        Option.fromNullable(headers.get("retry-after")),
        (value) => retryAfter(value, this.#content.at)
      )
    })
  }
}

const noBytes = new Uint8Array()

const onTime = (exchange: Exchange) => exchange.onTime()

/** Characters that every receiver reads alike, and that do not end the field. */
const fieldValue = /^[\t\x20-\x7e]*$/

/** The request as it is sent. Throws for a header that would be another one. */
const bytesOf = ({ body, headers, method, target }: Content, { authority }: CallbackUrl): string => {
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name] ?? ""
    if (!fieldValue.test(value)) throw new TypeError(`${name}: this value cannot be sent in a header`)
    head += `${name}: ${value}\r\n`
  }
  return body === null ? `${head}\r\n` : `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
