/** Core's `Callbacks` over HTTP: the validation GET and the event POST, each a single attempt with one deadline. */
import {
  type Answer,
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
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import type { Block } from "./AddressGuard.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import type * as Exchange from "./Exchange.ts"
import { refusedUrl } from "./Failure.ts"
import type * as Resolver from "./Resolver.ts"
import { sign } from "./Signature.ts"

export interface Options {
  /** Blocks of addresses that are allowed in addition to the public internet, also with http. Default: none. */
  readonly allow?: ReadonlyArray<Block>
  /** Resolves names. Default: the hosts file and the name servers of this machine. */
  readonly resolve?: Resolver.Resolve
  /** Certificate authorities in PEM to trust besides those that Node trusts. Default: none. */
  readonly ca?: ReadonlyArray<string>
  /** Default: `Startlist`. */
  readonly userAgent?: string
  /** Whether a delivery that has a trace names it in a `traceparent` header (W3C Trace Context). Default: no. */
  readonly traceparent?: boolean
}

/** Loads with the first request, so that a start does not wait for what requests need. */
const startsLater = (load: () => Promise<Exchange.Start>, report: (bug: unknown) => void): Exchange.Start => {
  let loading: Promise<Exchange.Start> | undefined
  let start: Exchange.Start | undefined
  return (url, content, timeout, done) => {
    if (start !== undefined) return start(url, content, timeout, done)
    let cancel: (() => void) | undefined
    let isCancelled = false
    loading ??= load()
    loading.then((loaded) => {
      start = loaded
      if (!isCancelled) cancel = start(url, content, timeout, done)
    }).catch((bug: unknown) => {
      loading = undefined
      report(bug)
      if (!isCancelled) done(broken)
    })
    return () => {
      isCancelled = true
      cancel?.()
    }
  }
}

const make = ({ allow = [], ca = [], resolve, traceparent = false, userAgent = "Startlist" }: Options) =>
  Effect.gen(function*() {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const report = (bug: unknown) => void runFork(reportBug(Cause.die(bug)))
    const scope = yield* Effect.scope
    const load = Effect.promise(() => import("./internal/open.ts")).pipe(
      Effect.map(({ open }) => open({ allow, ca, resolve }, report)),
      Effect.tap(({ close }) => Scope.addFinalizer(scope, Effect.sync(close))),
      Effect.map(({ start }) => start)
    )
    const start = startsLater(() => Effect.runPromise(load), report)
    const parse = CallbackUrl.makeParser(allow)

    /** Interruption frees the socket. */
    const exchange = (
      { callbackUrl, timeout }: Pick<Post, "callbackUrl" | "timeout">,
      content: (url: CallbackUrl.CallbackUrl) => Exchange.Content,
      done: (answer: Answer) => void
    ) => {
      const url = Option.getOrUndefined(parse(callbackUrl))
      if (url !== undefined) return start(url, content(url), Duration.toMillis(timeout), done)
      done(refusedUrl)
      return () => {}
    }

    const beginValidation: Begin<Validation> = (validation, done) =>
      exchange(validation, ({ target }) => ({
        method: "GET",
        target: CallbackUrl.withQuery(target, {
          "hub.mode": "subscribe",
          "hub.challenge": validation.challenge,
          "hub.verify_token": Redacted.value(validation.verifyToken)
        }),
        headers: ["accept", "application/json", "accept-encoding", "identity", "user-agent", userAgent],
        body: null,
        at: 0,
        reads: "whole"
      }), done)

    const begin: Begin<Post> = (post, done) =>
      exchange(post, ({ target }) => ({
        method: "POST",
        target,
        headers: [
          "content-type",
          "application/json",
          "user-agent",
          userAgent,
          "webhook-id",
          post.id,
          "webhook-timestamp",
          String(post.timestamp),
          "webhook-signature",
          sign(post, post.secrets),
          "startlist-sequence",
          String(post.sequence),
          ...(traceparent && Option.isSome(post.trace) ? ["traceparent", post.trace.value] : [])
        ],
        body: post.body,
        at: post.timestamp * 1000,
        reads: "excerpt"
      }), done)

    return Callbacks.of({
      accepts: (callbackUrl) => Option.isSome(parse(callbackUrl)),
      begin,
      deliver: awaiting(begin),
      validate: awaiting(beginValidation)
    })
  })

/**
 * Calls callbacks on the public internet and where `options` allow it. Connections close with the scope of the layer. The
 * HTTP client is loaded with the first request, whose timeout begins then.
 */
export const layerWith = (options: Options): Layer.Layer<Callbacks> => Layer.scoped(Callbacks, make(options))

/** Calls callbacks on the public internet, with https. */
export const layer: Layer.Layer<Callbacks> = layerWith({})
