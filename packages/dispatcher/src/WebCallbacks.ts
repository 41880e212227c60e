/**
 * Core's `Callbacks` with `fetch`, for runtimes without sockets. Imports nothing of Node.
 *
 * `fetch` resolves names itself without showing their addresses, so only addresses in the URL are checked. Use it only
 * if the runtime or the network blocks requests to private addresses; otherwise use `Dispatcher`.
 */
import { Answer, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type Block, permits } from "./AddressGuard.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import { refusedUrl, timedOut } from "./Failure.ts"
import { isIP } from "./internal/isIP.ts"
import { readAnswer } from "./internal/webAnswer.ts"
import { sign } from "./internal/webSignature.ts"
import * as RetryAfter from "./RetryAfter.ts"

export interface Options {
  /** Blocks of addresses that are allowed in addition to the public internet, also with http. Default: none. */
  readonly allow?: ReadonlyArray<Block>
  /** Default: `Startlist`. */
  readonly userAgent?: string
  /** Whether a delivery that has a trace names it in a `traceparent` header (W3C Trace Context). Default: no. */
  readonly traceparent?: boolean
}

const unreachable: Answer = Answer.Unreachable({ detail: "no connection, or it was closed before the answer" })

interface Content {
  readonly url: string
  readonly init: () => Promise<RequestInit> | RequestInit
  readonly reads: "excerpt" | "whole"
  /** Time of the request. As in `Exchange`, a `Retry-After` with a date is relative to it. */
  readonly at: number
}

/** Sends one request with a timeout in milliseconds. Interruption aborts it. */
const exchange = ({ at, init, reads, url }: Content, timeout: number): Effect.Effect<Answer> =>
  Effect.suspend(() => {
    const startedAt = performance.now()
    return Effect.tryPromise(async (signal) => fetch(url, { ...await init(), redirect: "manual", signal })).pipe(
      Effect.flatMap((response) => {
        const afterMs = performance.now() - startedAt
        const { headers, status } = response
        return Effect.map(readAnswer(response, reads, timeout - afterMs), (body) =>
          Answer.Answered({
            afterMs,
            status,
            contentType: headers.get("content-type") ?? "",
            body,
            retryAfter: Option.flatMap(
              Option.fromNullable(headers.get("retry-after")),
              (value) => RetryAfter.parse(value, at)
            )
          }))
      }),
      Effect.orElseSucceed(() => unreachable)
    )
  })

const make = ({ allow = [], traceparent = false, userAgent = "Startlist" }: Options): Callbacks.Service => {
  const parse = CallbackUrl.makeParser(allow)
  const isGuarded = ({ host, protocol }: CallbackUrl.CallbackUrl) => isIP(host) === 0 || permits(protocol, allow, host)

  const call = (
    { callbackUrl, timeout }: Pick<Post, "callbackUrl" | "timeout">,
    content: (url: CallbackUrl.CallbackUrl) => Content
  ): Effect.Effect<Answer> =>
    Option.match(Option.filter(parse(callbackUrl), isGuarded), {
      onNone: () => Effect.succeed(refusedUrl),
      onSome: (url) =>
        Effect.timeoutTo(exchange(content(url), Duration.toMillis(timeout)), {
          duration: timeout,
          onSuccess: (answer) => answer,
          onTimeout: () => timedOut
        })
    })

  const validate = (validation: Validation) =>
    call(validation, ({ origin, target }) => ({
      url: origin + CallbackUrl.withQuery(target, {
        "hub.mode": "subscribe",
        "hub.challenge": validation.challenge,
        "hub.verify_token": Redacted.value(validation.verifyToken)
      }),
      init: () => ({
        headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": userAgent }
      }),
      at: 0,
      reads: "whole"
    }))

  const deliver = (post: Post) =>
    call(post, ({ origin, target }) => ({
      url: origin + target,
      init: async () => ({
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": userAgent,
          "webhook-id": post.id,
          "webhook-timestamp": String(post.timestamp),
          "webhook-signature": await sign(post, post.secrets),
          "startlist-sequence": String(post.sequence),
          ...(traceparent && Option.isSome(post.trace) ? { traceparent: post.trace.value } : {})
        },
        body: post.body
      }),
      at: post.timestamp * 1000,
      reads: "excerpt"
    }))

  return { accepts: (callbackUrl) => Option.isSome(parse(callbackUrl)), deliver, validate }
}

/** Calls callbacks on the public internet and where `options` allow it. */
export const layerWith = (options: Options): Layer.Layer<Callbacks> => Layer.sync(Callbacks, () => make(options))

/** Calls callbacks on the public internet, with https. */
export const layer: Layer.Layer<Callbacks> = layerWith({})
