/** `GET /language`: the switch at the foot of every page. Remembers the choice and goes back. */
import * as Effect from "effect/Effect"
import { get, readOnce } from "../Parameters.ts"
import { Malformed } from "../Refusal.ts"
import type { Route } from "../Router.ts"
import { basePath, Site } from "../Site.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"
import * as ReturnTo from "./ReturnTo.ts"

export const make: Effect.Effect<Route> = Effect.gen(function*() {
  const base = basePath(yield* Site)
  const { refuse } = yield* ErrorPage.make
  return {
    path: "/language",
    methods: {
      GET: (request) =>
        Effect.flatMap(readOnce(request), (parameters) => {
          const locale = get(parameters, "locale")
          if (!Locale.isLocale(locale)) return Effect.fail(new Malformed({ what: "locale" }))
          const returnTo = ReturnTo.safe(get(parameters, "return_to"), `${base}/account/applications`)
          return Effect.succeed(Page.redirect(returnTo, { "set-cookie": Locale.cookie(locale, base) }))
        })
    },
    refuse
  }
})
