/**
 * Core's `Callbacks` with `fetch`, for runtimes without sockets. Imports nothing of Node.
 *
 * `fetch` resolves names itself without showing their addresses, so only addresses in the URL are checked. Use it only
 * if the runtime or the network blocks requests to private addresses; otherwise use `Dispatcher`.
 */
import { Answer, Callbacks, type Post } from "@startlist/core/Callbacks"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type Block, isIP, permits } from "./AddressGuard.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import * as Messages from "./internal/Messages.ts"
import type { Signed } from "./Signature.ts"

/** Allowed addresses, and the form of requests. */
export interface Options extends Messages.Options {
  /** Blocks of addresses that are allowed in addition to the public internet, also with http. Default: none. */
  readonly allow?: ReadonlyArray<Block>
}

const utf8 = new TextEncoder()

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

const toBase64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

const signOnce = async (content: string, secret: Redacted.Redacted<string>): Promise<string> => {
  const bytes = fromBase64(Redacted.value(secret).replace(/^whsec_/, ""))
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  return `v1,${toBase64(await crypto.subtle.sign("HMAC", key, utf8.encode(content)))}`
}

/** The `webhook-signature` of `Signature.sign`, with Web Crypto. */
export const sign = async (message: Signed, secrets: ReadonlyArray<Redacted.Redacted<string>>): Promise<string> => {
  const content = `${message.id}.${message.timestamp}.${message.body}`
  return (await Promise.all(secrets.map((secret) => signOnce(content, secret)))).join(" ")
}

const unreachable: Answer = Answer.Unreachable({ detail: "no connection, or it was closed before the answer" })

/** Collects pieces until the end of the stream, more than `most` bytes, an error, or the signal. */
const collect = async (
  { body }: Response,
  most: number,
  into: Messages.Beginning,
  signal: AbortSignal
): Promise<"complete" | "cut" | "broken"> => {
  if (body === null) return "complete"
  const reader = body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener("abort", stop, { once: true })
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return "complete"
      into.add(value)
      if (into.received <= most) continue
      stop()
      return "cut"
    }
  } catch {
    return "broken"
  }
}

/**
 * The body as text: `whole` for a 200 to a validation, which fails if the body is incomplete; otherwise the beginning,
 * as much of it as arrives well before the deadline, which is `left` milliseconds away. Nothing is decompressed: a body
 * with a content coding counts as empty.
 */
const readBody = (
  response: Response,
  reads: Messages.Content["reads"],
  left: number
): Effect.Effect<string, "broken"> => {
  const isWhole = reads === "whole" && response.status === 200
  const most = isWhole ? Messages.wholeBytes : Messages.excerptBytes
  const beginning = new Messages.Beginning(most)
  const collected = Effect.promise((signal) => collect(response, most, beginning, signal))
  const isCoded = response.headers.has("content-encoding")
  if (!isWhole) {
    return Effect.map(
      Effect.timeoutOption(collected, Messages.excerptWait(left)),
      () => isCoded ? "" : Messages.excerptOf(beginning.bytes)
    )
  }
  return Effect.flatMap(collected, (outcome) => {
    if (outcome === "broken") return Effect.fail("broken" as const)
    return Effect.succeed(outcome === "cut" || isCoded ? "" : Messages.textOf(beginning.bytes))
  })
}

/** Sends one request with a timeout in milliseconds. Interruption aborts it. */
const exchange = (
  origin: string,
  content: () => Promise<Messages.Content> | Messages.Content,
  timeout: number
): Effect.Effect<Answer> =>
  Effect.gen(function*() {
    const startedAt = performance.now()
    const { at, body, headers, method, reads, target } = yield* Effect.tryPromise(async () => content())
    const response = yield* Effect.tryPromise((signal) =>
      fetch(origin + target, { method, headers, body, redirect: "manual", signal })
    )
    const afterMs = performance.now() - startedAt
    return Answer.Answered({
      afterMs,
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      body: yield* readBody(response, reads, timeout - afterMs),
      retryAfter: Option.flatMap(
        Option.fromNullable(response.headers.get("retry-after")),
        (value) => Messages.retryAfter(value, at)
      )
    })
  }).pipe(Effect.orElseSucceed(() => unreachable))

const make = (options: Options): Callbacks.Service => {
  const { allow = [] } = options
  const parse = CallbackUrl.makeParser(allow)
  const isGuarded = ({ host, protocol }: CallbackUrl.CallbackUrl) => isIP(host) === 0 || permits(protocol, allow, host)

  const call = (
    { callbackUrl, timeout }: Pick<Post, "callbackUrl" | "timeout">,
    content: (url: CallbackUrl.CallbackUrl) => Promise<Messages.Content> | Messages.Content
  ): Effect.Effect<Answer> =>
    Option.match(Option.filter(Either.getRight(parse(callbackUrl)), isGuarded), {
      onNone: () => Effect.succeed(Messages.refusedUrl),
      onSome: (url) =>
        Effect.timeoutTo(exchange(url.origin, () => content(url), Duration.toMillis(timeout)), {
          duration: timeout,
          onSuccess: (answer) => answer,
          onTimeout: () => Messages.timedOut
        })
    })

  return {
    problem: (callbackUrl) => Either.getLeft(parse(callbackUrl)),
    deliver: (post) => call(post, async (url) => Messages.delivery(post, url, await sign(post, post.secrets), options)),
    validate: (validation) => call(validation, (url) => Messages.validation(validation, url, options))
  }
}

/** Calls callbacks on the public internet and where `options` allow it. */
export const layerWith = (options: Options): Layer.Layer<Callbacks> => Layer.sync(Callbacks, () => make(options))

/** Calls callbacks on the public internet, with https. */
export const layer: Layer.Layer<Callbacks> = layerWith({})
