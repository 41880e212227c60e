/** `/account/applications`: a user's authorised applications, and their revocation (requirements §1, §3.2). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { OAuth } from "@startlist/core/OAuth"
import { Audit, Entry, Party, uninterrupted } from "@startlist/core/Audit"
import type { Secrets } from "@startlist/core/Secrets"
import { Templates } from "../Templates.ts"
import { redirect, type Request, type Response } from "@startlist/http/Http"
import { parseClientId } from "@startlist/http/Parameters"
import { NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication, type SignedIn } from "../Authentication.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Forms from "./Forms.ts"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

const path = "/account/applications"

/** The routes of the authorised applications. */
export const make: Effect.Effect<ReadonlyArray<Route>, never, Audit | Authentication | HttpConfig | OAuth | Secrets> =
  Effect.gen(
    function*() {
      const oauth = yield* OAuth
      const authentication = yield* Authentication
      const audit = yield* Audit
      const config = yield* HttpConfig
      const templates = yield* Templates
      const frameOf = yield* Page.makeFrame
      const errors = yield* ErrorPage.make
      const notices = yield* Forms.makeNotices
      const here = basePath(config) + path

      const withSignedIn = <E>(request: Request, use: (signedIn: SignedIn) => Effect.Effect<Response, E>) =>
        Effect.flatMap(
          authentication.identify(request),
          Option.match({
            onNone: (): Effect.Effect<Response, E> =>
              Effect.succeed(errors.signIn(request, authentication.signInUrl(here))),
            onSome: use
          })
        )

      const show: Endpoint = (request) =>
        withSignedIn(
          request,
          (signedIn) =>
            Effect.map(Effect.all([oauth.authorized(signedIn.user.id), DateTime.now]), ([authorized, now]) => {
              const locale = Locale.of(request)
              const frame = frameOf({
                locale,
                here,
                signedIn: Option.some(signedIn),
                signOutUrl: authentication.signOutUrl,
                notice: notices.textOf(request, locale, signedIn)
              })
              return Page.html(
                200,
                templates.applications({
                  authorized,
                  now,
                  csrf: signedIn.csrf,
                  fieldsOf: ({ name }) => notices.fields("revoked", name, signedIn),
                  frame
                }),
                {
                  sources: templates.sources
                }
              )
            })
        )

      const revokeOne: Endpoint = (request, [id = ""]) =>
        withSignedIn(request, (signedIn) =>
          Effect.gen(function*() {
            const { isGenuine, parameters } = yield* Forms.read(request, config)
            if (!isGenuine(signedIn.csrf)) return errors.forged(request)
            const applicationId = parseClientId(id)
            if (Option.isNone(applicationId)) return yield* new NotFound()
            const entry = Entry.Acted({
              at: yield* DateTime.now,
              action: "revocation",
              actor: Party.User({ userId: signedIn.user.id }),
              subject: Party.Application({ applicationId: applicationId.value }),
              address: request.address
            })
            yield* Effect.catchTag(
              uninterrupted(Effect.tap(oauth.revokeByUser(applicationId.value, signedIn.user.id), audit.record(entry))),
              "@startlist/core/GrantNotFound",
              // The form was sent twice, or from another window: the application has no access.
              () => Effect.void
            )
            const name = notices.aboutIn(parameters, "revoked", signedIn)
            return redirect(name === undefined ? here : notices.address(here, "revoked", name, signedIn))
          }))

      return [
        { path, methods: { GET: show }, refuse: errors.refuse },
        { path: `${path}/{client_id}/revoke`, methods: { POST: revokeOne }, refuse: errors.refuse }
      ]
    }
  )
