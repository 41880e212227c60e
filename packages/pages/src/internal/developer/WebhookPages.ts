/**
 * `/developer/applications/{client_id}/…`: the signing secret and the subscription of an application, and test events.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { liveSigningSecrets, type SigningSecrets } from "@startlist/core/Application"
import { Deliveries } from "@startlist/core/Deliveries"
import { Policy } from "@startlist/core/Policy"
import { Applications } from "@startlist/core/Applications"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import { recorded } from "@startlist/http/Audit"
import * as Allowance from "@startlist/http/Allowance"
import { redirect } from "@startlist/http/Message"
import { get } from "@startlist/http/Parameters"
import { Malformed, NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { Throttle } from "@startlist/http/Throttle"
import type { Authentication } from "../../Authentication.ts"
import * as Page from "../Page.ts"
import * as Owner from "./Owner.ts"
import { SigningView } from "./SigningView.tsx"

export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | Deliveries | Subscriptions | Throttle | Authentication
> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const applications = yield* Applications
  const { secretOverlap: overlap } = yield* Policy
  const owner = yield* Owner.make
  const spend = yield* Allowance.make

  const pathOf = (id: string | undefined) => `${Owner.home}/${id}/signing-secret`

  const show: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      pathOf(id),
      (context) =>
        applications.signingSecrets(context.application.id).pipe(
          Effect.map((present) => Page.html(200, SigningView({ context, present, shown: [], overlap }))),
          Effect.catchTag("ApplicationNotFound", () => new NotFound())
        )
    )

  const reveal = (context: Owner.ApplicationContext, present: SigningSecrets, isRotated: boolean) =>
    Effect.map(
      DateTime.now,
      (now) => {
        const shown = liveSigningSecrets(present.secrets, now)
        return Page.html(200, SigningView({ context, present, shown, isRotated, overlap }))
      }
    )

  const act: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application } = context
        switch (get(parameters, "action")) {
          case "reveal":
            return yield* reveal(context, yield* applications.signingSecrets(application.id), false)
          case "rotate": {
            const version = Number(get(parameters, "version"))
            const rotated = yield* recorded(Effect.tap(
              applications.rotateSigningSecret(application.id, version),
              owner.record(request, "signing_secret_rotated", context, application)
            ))
            return yield* reveal(context, rotated, true)
          }
          default:
            return yield* new Malformed({ what: "action" })
        }
      }).pipe(Effect.catchTags({
        ApplicationNotFound: () => new NotFound(),
        Conflict: () => Effect.succeed(owner.outdated(request, context))
      })), pathOf(id))

  const test: Endpoint = (request, [id]) =>
    owner.withForm(
      request,
      id,
      (context) =>
        spend("delivery", context.application.ownerId, deliveries.sendTest(context.application.id)).pipe(
          Effect.map((delivery) =>
            redirect(`${Owner.pathOf(context.frame, context.application)}/deliveries/${delivery.id}`)
          ),
          Effect.catchTag("SubscriptionNotFound", () => new NotFound())
        )
    )

  const end: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context) =>
      recorded(
        Effect.tap(
          applications.end(context.application.id),
          owner.record(request, "application_ended", context, context.application)
        )
      ).pipe(
        Effect.as(redirect(context.frame.base + Owner.home)),
        Effect.catchTag("ApplicationNotFound", () => new NotFound())
      ))

  const { refuse } = owner
  return [
    { path: `${Owner.home}/{client_id}/signing-secret`, methods: { GET: show, POST: act }, refuse },
    { path: `${Owner.home}/{client_id}/test-event`, methods: { POST: test }, refuse },
    { path: `${Owner.home}/{client_id}/end`, methods: { POST: end }, refuse }
  ]
})
