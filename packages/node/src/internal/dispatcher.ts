/** The dispatcher, loaded with the first delivery, so that the start does not wait for its HTTP client and TLS. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Callbacks, forking } from "@startlist/core/Callbacks"
import * as CallbackUrl from "@startlist/dispatcher/CallbackUrl"
import type * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { once } from "./once.ts"

/** The same as `Dispatcher.layerWith`, loaded on first use. */
export const layerWith = (
  options: Dispatcher.Options & { readonly allow: NonNullable<Dispatcher.Options["allow"]> }
): Layer.Layer<Callbacks> =>
  Layer.scoped(
    Callbacks,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      let present: Callbacks.Service | undefined
      const load = Effect.promise(() => import("@startlist/dispatcher/Dispatcher")).pipe(
        Effect.flatMap((dispatcher) => Layer.buildWithScope(dispatcher.layerWith(options), scope)),
        Effect.map((context) => present = Context.get(context, Callbacks))
      )
      const loaded = yield* once(load)
      const parse = CallbackUrl.makeParser(options.allow)
      const fork = forking(yield* Effect.runtime<never>())
      const deliver: Callbacks.Service["deliver"] = (post) => Effect.flatMap(loaded, ({ deliver }) => deliver(post))
      return Callbacks.of({
        accepts: (callbackUrl) => Option.isSome(parse(callbackUrl)),
        begin: (post, done) => present?.begin?.(post, done) ?? fork(deliver(post), done),
        deliver,
        validate: (validation) => Effect.flatMap(loaded, ({ validate }) => validate(validation))
      })
    })
  )
