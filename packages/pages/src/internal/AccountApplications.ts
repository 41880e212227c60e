/** `/account/applications`: what a user has authorised, and taking it back (requirements §1, §3.2). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { OAuth } from "@startlist/core/OAuth"
import { Audit, Party, recorded } from "@startlist/http/Audit"
import { Look } from "../Look.ts"
import { redirect, type Request, type Response } from "@startlist/http/Message"
import { parseClientId } from "@startlist/http/Parameters"
import { NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, Site } from "@startlist/http/Site"
import { type Visitor, Visitors } from "../Visitors.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Forms from "./Forms.ts"
import * as Frame from "./Frame.ts"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const path = "/account/applications"

export const make: Effect.Effect<ReadonlyArray<Route>, never, OAuth | Visitors> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const visitors = yield* Visitors
  const audit = yield* Audit
  const site = yield* Site
  const look = yield* Look
  const frameOf = yield* Frame.make
  const { forged, refuse } = yield* ErrorPage.make
  const here = basePath(site) + path

  const withVisitor = <E>(request: Request, use: (visitor: Visitor) => Effect.Effect<Response, E>) =>
    Effect.flatMap(
      visitors.identify(request),
      Option.match({
        onNone: (): Effect.Effect<Response, E> => Effect.succeed(redirect(visitors.signInUrl(here))),
        onSome: use
      })
    )

  const show: Endpoint = (request) =>
    withVisitor(request, (visitor) =>
      Effect.map(oauth.authorized(visitor.user.id), (authorized) => {
        const locale = Locale.of(request)
        const frame = frameOf({ locale, here, visitor: Option.some(visitor), signOutUrl: visitors.signOutUrl })
        return Page.html(200, look.applications({ authorized, csrf: visitor.csrf, frame }), { sources: look.sources })
      }))

  const revokeOne: Endpoint = (request, [id = ""]) =>
    withVisitor(request, (visitor) =>
      Effect.gen(function*() {
        const { isGenuine } = yield* Forms.read(request, site)
        if (!isGenuine(visitor.csrf)) return forged(request)
        const applicationId = parseClientId(id)
        if (Option.isNone(applicationId)) return yield* new NotFound()
        const entry = {
          at: yield* DateTime.now,
          action: "revocation" as const,
          actor: Party.User({ userId: visitor.user.id }),
          subject: Party.Application({ applicationId: applicationId.value }),
          address: request.address
        }
        yield* Effect.catchTag(
          recorded(Effect.tap(oauth.revokeByUser(applicationId.value, visitor.user.id), audit.record(entry))),
          "GrantNotFound",
          () => new NotFound()
        )
        return redirect(here)
      }))

  return [
    { path, methods: { GET: show }, refuse },
    { path: `${path}/{client_id}/revoke`, methods: { POST: revokeOne }, refuse }
  ]
})
