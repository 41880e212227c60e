/** One request to a callback and its outcome, with one deadline. Reads only a small part of the response. */
import { Answer, broken } from "@startlist/core/Callbacks"
import * as Option from "effect/Option"
import type { Dispatcher } from "undici"
import type { CallbackUrl } from "./CallbackUrl.ts"
import type { Connection, Connections } from "./Connections.ts"
import { fromError, timedOut, tooManyInterim } from "./Failure.ts"
import { excerptBytes, excerptLength, excerptWait } from "./internal/excerpt.ts"
import * as RetryAfter from "./RetryAfter.ts"

/** The request to send, and the parts of the response that matter. */
export interface Content {
  readonly method: "GET" | "POST"
  readonly target: string
  /** Names and values in turn. */
  readonly headers: Array<string>
  readonly body: string | null
  /** Time of the request in milliseconds since 1970. A `Retry-After` with a date is relative to it. */
  readonly at: number
  /**
   * `excerpt`: status and headers decide, and the beginning of the body is stored for the log. `whole`: a 200 counts
   * only if its body is complete. A body that is too large counts as empty.
   */
  readonly reads: "excerpt" | "whole"
}

/** Read once: each access would create a new constructor. */
const { Answered } = Answer

/** Maximum size in bytes of a body without a meaning. Its rest is read and dropped, so that the connection can be reused. */
const droppedBytes = 16 * 1024

/** Maximum size of a validation's body in bytes (requirements §4.7 needs about sixty). */
const wholeBytes = 4 * 1024

/** Maximum number of interim responses, such as 100 Continue. Servers send at most two or three. */
const maxInterim = 8

/**
 * Sends a request and calls `done` once, after at most `timeout` milliseconds for everything: lookup, connection, TLS,
 * request and response. Returns a function that cancels the request: it frees the socket, and `done` is not called.
 */
export type Start = (url: CallbackUrl, content: Content, timeout: number, done: (answer: Answer) => void) => () => void

/** Exchanges over these connections. An exchange fails on a bug, which is also passed to `report`. */
export const make =
  (connections: Connections, report: (bug: unknown) => void): Start => (url, content, timeout, done) => {
    const exchange = new Exchange(connections.acquire(url), content, timeout, done, report)
    exchange.send()
    return () => exchange.abandon()
  }

class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection
  readonly #content: Content
  readonly #timeout: number
  readonly #done: (answer: Answer) => void
  readonly #report: (bug: unknown) => void
  readonly #startedAt = performance.now()
  #timer: NodeJS.Timeout
  #isOver = false
  #interim = 0
  #status = 0
  #afterMs = 0
  #headers: Dispatcher.ResponseData["headers"] = {}
  #isWhole = false
  #chunks: Array<Buffer> = []
  #bytes = 0

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
    this.#timer = setTimeout(onTime, timeout, this)
  }

  /** Handles one event of the exchange. A bug in it must not end the process or another exchange. */
  #on(event: () => void): void {
    if (this.#isOver) return
    try {
      event()
    } catch (bug) {
      this.#report(bug)
      this.#end(broken)
    }
  }

  send(): void {
    const { body, headers, method, target } = this.#content
    this.#on(() => this.#connection.send({ method, path: target, headers, body }, this))
  }

  /** Sends nothing after the deadline: a process that was paused may find its connection ready long after it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#on(() => {
      if (performance.now() - this.#startedAt < this.#timeout) return
      this.#end(timedOut)
      controller.abort(new Error("the deadline has passed"))
    })
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Dispatcher.ResponseData["headers"]): void {
    this.#on(() => {
      if (status < 200) {
        this.#interim++
        if (this.#interim > maxInterim) this.#end(tooManyInterim)
        return
      }
      this.#afterMs = performance.now() - this.#startedAt
      if (this.#afterMs > this.#timeout) return this.#end(timedOut)
      this.#status = status
      this.#headers = headers
      this.#isWhole &&= status === 200
      // Most responses are complete with their headers, and need no other timer.
      if (!this.#isWhole) queueMicrotask(() => this.#on(() => this.#awaitBody()))
    })
  }

  #awaitBody(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, excerptWait(this.#timeout - this.#afterMs), this)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#on(() => {
      if (this.#bytes < (this.#isWhole ? wholeBytes : excerptBytes)) this.#chunks.push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes > (this.#isWhole ? wholeBytes : droppedBytes)) this.#end(this.#answered())
    })
  }

  onResponseEnd(): void {
    this.#on(() => this.#end(this.#answered(), true))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : fromError(error)))
  }

  /** Called at the deadline, or at the end of the wait for the rest of a body. */
  onTime(): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : timedOut))
  }

  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#free(false)
  }

  #isDecided(): boolean {
    return this.#status > 0 && !this.#isWhole
  }

  #end(answer: Answer, isComplete = false): void {
    this.#isOver = true
    this.#free(isComplete)
    this.#done(answer)
  }

  #free(isComplete: boolean): void {
    clearTimeout(this.#timer)
    try {
      if (isComplete) this.#connection.release()
      else this.#connection.discard()
    } catch (bug) {
      this.#report(bug)
    }
  }

  #answered(): Answer {
    return Answered({
      afterMs: this.#afterMs,
      status: this.#status,
      contentType: text(this.#headers["content-type"]),
      body: this.#body(),
      retryAfter: this.#retryAfter()
    })
  }

  /** The text of the body. Nothing is decompressed: a body with a content coding counts as empty. */
  #body(): string {
    const isTooLarge = this.#isWhole && this.#bytes > wholeBytes
    if (this.#bytes === 0 || isTooLarge || this.#headers["content-encoding"] !== undefined) return ""
    const bytes = Buffer.concat(this.#chunks)
    return this.#isWhole ? bytes.toString() : bytes.toString("utf8", 0, excerptBytes).slice(0, excerptLength)
  }

  #retryAfter(): ReturnType<typeof RetryAfter.parse> {
    const value = this.#headers["retry-after"]
    return typeof value === "string" ? RetryAfter.parse(value, this.#content.at) : Option.none()
  }
}

const onTime = (exchange: Exchange) => exchange.onTime()

/** Joins the values of a repeated header (RFC 9110 §5.3). */
const text = (value: string | ReadonlyArray<string> | undefined): string =>
  typeof value === "string" ? value : value?.join(", ") ?? ""
