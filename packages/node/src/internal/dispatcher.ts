/** The dispatcher, loaded when there is something to send: a start does without its HTTP client and its TLS. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Callbacks } from "@startlist/core/Callbacks"
import * as CallbackUrl from "@startlist/dispatcher/CallbackUrl"
import type * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { once } from "./once.ts"

/** As `Dispatcher.layerWith`. */
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
      return Callbacks.of({
        accepts: (callbackUrl) => Option.isSome(parse(callbackUrl)),
        // As it is, once it is there: a worker begins a `Request` without a fiber.
        deliver: (post) => present?.deliver(post) ?? Effect.flatMap(loaded, ({ deliver }) => deliver(post)),
        validate: (validation) => Effect.flatMap(loaded, ({ validate }) => validate(validation))
      })
    })
  )
