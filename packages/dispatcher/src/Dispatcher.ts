/** Core's `Callbacks` over HTTP: the validation GET and the event POST, each a single attempt with one deadline. */
import {
  Answer,
  awaiting,
  type Begin,
  broken,
  Callbacks,
  type Post,
  reportBug,
  type Validation
} from "@startlist/core/Callbacks"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import { type Block, type CallbackProtocol, isWithin, permits } from "./AddressGuard.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import type { Head } from "./internal/AnswerReader.ts"
import * as Connections from "./internal/Connections.ts"
import * as Messages from "./internal/Messages.ts"
import * as Resolver from "./Resolver.ts"
import * as Signature from "./Signature.ts"

/** Allowed addresses, and the form of requests. */
export interface Options extends Messages.Options {
  /** Blocks of addresses that are allowed in addition to the public internet, also with http. Default: none. */
  readonly allow?: ReadonlyArray<Block>
  /** Whether only addresses in `allow` may be called, and not the public internet. Default: no. */
  readonly onlyAllowed?: boolean
  /** Resolves names. Default: the hosts file and the name servers of this machine. */
  readonly resolve?: Resolver.Resolve
  /** Certificate authorities in PEM to trust besides those that Node trusts. Default: none. */
  readonly ca?: ReadonlyArray<string>
}

const make = (options: Options) =>
  Effect.gen(function*() {
    const { allow = [], ca = [], onlyAllowed = false, resolve = Resolver.make() } = options
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const mayDial = (protocol: CallbackProtocol, address: string) =>
      onlyAllowed ? isWithin(allow, address) : permits(protocol, allow, address)
    const connections = yield* Effect.acquireRelease(
      Effect.sync(() => Connections.make({ ca, mayDial, resolve })),
      ({ close }) => Effect.sync(close)
    )
    const report = (bug: unknown) => void runFork(reportBug(Cause.die(bug)))
    const parse = CallbackUrl.makeParser(allow)
    const sign = Signature.make()

    /**
     * Sends a request and calls `done` once, after at most `timeout` for everything: lookup, connection, TLS, request and
     * answer. Returns a function that cancels the request: it frees the socket, and `done` is not called.
     */
    const exchange = (
      { callbackUrl, timeout }: Pick<Post, "callbackUrl" | "timeout">,
      contentFor: (url: CallbackUrl.CallbackUrl) => Messages.Content,
      done: (answer: Answer) => void
    ) => {
      const url = Either.getOrUndefined(parse(callbackUrl))
      if (url === undefined) {
        done(Messages.refusedUrl)
        return () => {}
      }
      const content = contentFor(url)
      const started = new Exchange(connections.acquire(url), content, Duration.toMillis(timeout), done, report)
      started.send(url)
      return () => started.abandon()
    }

    const beginValidation: Begin<Validation> = (validation, done) =>
      exchange(validation, (url) => Messages.validation(validation, url, options), done)

    const begin: Begin<Post> = (post, done) =>
      exchange(post, (url) => Messages.delivery(post, url, sign(post, post.secrets), options), done)

    return Callbacks.of({
      problem: (callbackUrl) => Either.getLeft(parse(callbackUrl)),
      begin,
      deliver: awaiting(begin),
      validate: awaiting(beginValidation)
    })
  })

/**
 * Calls callbacks on the public internet and where `options` allow it. Connections close with the scope of the layer.
 *
 * @example
 * ```ts
 * import { AddressGuard, Dispatcher } from "@startlist/dispatcher"
 * import { Option } from "effect"
 *
 * const callbacks = Dispatcher.layerWith({ allow: Option.toArray(AddressGuard.parseBlock("10.1.0.0/16")) })
 * ```
 */
export const layerWith = (options: Options): Layer.Layer<Callbacks> => Layer.scoped(Callbacks, make(options))

/** Calls callbacks on the public internet, with https. */
export const layer: Layer.Layer<Callbacks> = layerWith({})

/** Read once: each access would create a new constructor. */
const { Answered } = Answer

/** Maximum size in bytes of a body without a meaning. Its rest is read and dropped, so that the connection can be reused. */
const droppedBytes = 16 * 1024

/** One request to a callback and its outcome, with one deadline. Reads only a small part of the answer. */
class Exchange implements Connections.Handler {
  readonly #connection: Connections.Connection
  readonly #content: Messages.Content
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
  #body: Messages.Beginning

  constructor(
    connection: Connections.Connection,
    content: Messages.Content,
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
    this.#body = new Messages.Beginning(this.#isWhole ? Messages.wholeBytes : Messages.excerptBytes)
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

  send(url: CallbackUrl.CallbackUrl): void {
    this.#on(() => this.#connection.send(bytesOf(this.#content, url), this))
  }

  /** Sends nothing after the deadline: a process that was paused may find its connection ready long after it. */
  mayBegin(): boolean {
    if (performance.now() - this.#startedAt < this.#timeout) return true
    this.#on(() => this.#end(Messages.timedOut, 0))
    return false
  }

  onHead(head: Head): void {
    this.#on(() => {
      this.#afterMs = performance.now() - this.#startedAt
      if (this.#afterMs > this.#timeout) return this.#end(Messages.timedOut, 0)
      this.#head = head
      this.#isWhole &&= head.status === 200
      // Most answers are complete with their headers, and need no other timer.
      if (!this.#isWhole) queueMicrotask(() => this.#on(() => this.#awaitBody()))
    })
  }

  #awaitBody(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(onTime, Messages.excerptWait(this.#timeout - this.#afterMs), this)
  }

  onBody(piece: Buffer): void {
    this.#on(() => {
      this.#body.add(piece)
      if (this.#body.received > (this.#isWhole ? Messages.wholeBytes : droppedBytes)) this.#end(this.#answered(), 0)
    })
  }

  onEnd(keptMillis: number): void {
    this.#on(() => this.#end(this.#answered(), keptMillis))
  }

  onError(error: Error): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : Messages.fromError(error), 0))
  }

  /** Called at the deadline, or at the end of the wait for the rest of a body. */
  onTime(): void {
    this.#on(() => this.#end(this.#isDecided() ? this.#answered() : Messages.timedOut, 0))
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
    const isTooLarge = this.#isWhole && this.#body.received > Messages.wholeBytes
    // Nothing is decompressed: a body with a content coding counts as empty.
    const bytes = isTooLarge || headers.has("content-encoding") ? noBytes : this.#body.bytes
    return Answered({
      afterMs: this.#afterMs,
      status,
      contentType: headers.get("content-type") ?? "",
      body: this.#isWhole ? Messages.textOf(bytes) : Messages.excerptOf(bytes),
      retryAfter: Option.flatMap(
        Option.fromNullable(headers.get("retry-after")),
        (value) => Messages.retryAfter(value, this.#content.at)
      )
    })
  }
}

const noBytes = new Uint8Array()

const onTime = (exchange: Exchange) => exchange.onTime()

/** Characters that every receiver reads alike, and that do not end the field. */
const fieldValue = /^[\t\x20-\x7e]*$/

/** The request as it is sent. Throws for a header that would be another one. */
const bytesOf = (
  { body, headers, method, target }: Messages.Content,
  { authority }: CallbackUrl.CallbackUrl
): string => {
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name] ?? ""
    if (!fieldValue.test(value)) throw new TypeError(`${name}: this value cannot be sent in a header`)
    head += `${name}: ${value}\r\n`
  }
  return body === null ? `${head}\r\n` : `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
