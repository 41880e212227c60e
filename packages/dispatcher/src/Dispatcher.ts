/** Core's `Callbacks` over HTTP: the validation GET and the event POST, each a single attempt with one deadline. */
import {
  type Answer,
  awaiting,
  type Begin,
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
import * as Runtime from "effect/Runtime"
import { type Block, type CallbackProtocol, isWithin, permits } from "./AddressGuard.ts"
import * as CallbackUrl from "./CallbackUrl.ts"
import * as Connections from "./internal/Connections.ts"
import * as Messages from "./internal/Messages.ts"
import * as Exchange from "./internal/Exchange.ts"
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
    const start = Exchange.make(connections, (bug) => void runFork(reportBug(Cause.die(bug))))
    const parse = CallbackUrl.makeParser(allow)
    const sign = Signature.make()

    /** Interruption frees the socket. */
    const exchange = (
      { callbackUrl, timeout }: Pick<Post, "callbackUrl" | "timeout">,
      content: (url: CallbackUrl.CallbackUrl) => Messages.Content,
      done: (answer: Answer) => void
    ) => {
      const url = parse(callbackUrl)
      if (Either.isRight(url)) return start(url.right, content(url.right), Duration.toMillis(timeout), done)
      done(Messages.refusedUrl)
      return () => {}
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
