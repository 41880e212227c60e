/** `GET /language`: the switch at the foot of every page. Remembers the choice and goes back. */
import * as Effect from "effect/Effect"
import { get, readOnce } from "../Parameters.ts"
import { Malformed } from "../Refusal.ts"
import type { Route } from "../Router.ts"
import * as ErrorPage from "./ErrorPage.tsx"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"
import * as ReturnTo from "./ReturnTo.ts"

export const route: Route = {
  path: "/language",
  methods: {
    GET: (request) =>
      Effect.flatMap(readOnce(request), (parameters) => {
        const locale = get(parameters, "locale")
        if (!Locale.isLocale(locale)) return Effect.fail(new Malformed({ what: "locale" }))
        const returnTo = ReturnTo.safe(get(parameters, "return_to"), "/account/applications")
        return Effect.succeed(Page.redirect(returnTo, { "set-cookie": Locale.cookie(locale) }))
      })
  },
  refuse: ErrorPage.refuse
}
