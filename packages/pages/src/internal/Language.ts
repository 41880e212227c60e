/** `GET /language`: the switch at the foot of every page. Stores the choice in a cookie and returns to the page. */
import * as Effect from "effect/Effect"
import { redirect } from "@startlist/http/Message"
import { get, readOnce } from "@startlist/http/Parameters"
import { Malformed } from "@startlist/http/Refusal"
import type { Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import * as ErrorPage from "./ErrorPage.ts"
import * as Locale from "./Locale.ts"
import * as ReturnTo from "./ReturnTo.ts"

export const make: Effect.Effect<Route> = Effect.gen(function*() {
  const base = basePath(yield* HttpConfig)
  const { refuse } = yield* ErrorPage.make
  return {
    path: "/language",
    methods: {
      GET: (request) =>
        Effect.flatMap(readOnce(request), (parameters) => {
          const locale = Locale.parse(get(parameters, "locale"))
          if (locale === undefined) return Effect.fail(new Malformed({ what: "locale" }))
          const returnTo = ReturnTo.safe(get(parameters, "return_to"), `${base}/account/applications`)
          return Effect.succeed(redirect(returnTo, { "set-cookie": Locale.cookie(locale, base) }))
        })
    },
    refuse
  }
})
