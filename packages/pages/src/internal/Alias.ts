/** Shorter addresses of pages. */
import * as Effect from "effect/Effect"
import { redirect, type Response } from "@startlist/http/Message"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import * as ErrorPage from "./ErrorPage.ts"

/** Redirects from `path` to `target` with the query. Both are paths of this service. */
export const make = (path: string, target: string): Effect.Effect<Route> =>
  Effect.gen(function*() {
    const base = basePath(yield* HttpConfig)
    const { refuse } = yield* ErrorPage.make
    return {
      path,
      methods: {
        GET: ({ query }): Effect.Effect<Response> =>
          Effect.succeed(redirect(`${base}${target}${query === "" ? "" : `?${query}`}`))
      },
      refuse
    }
  })
