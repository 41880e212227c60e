/**
 * `/developer/applications/{client_id}/…`: the signing secret and the subscription of an application, and test events.
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ApplicationId, SigningSecrets } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import { Deliveries } from "@startlist/core/Deliveries"
import { Policy } from "@startlist/core/Policy"
import { Applications } from "@startlist/core/Applications"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import { type Audit, uninterrupted } from "@startlist/core/Audit"
import * as OwnerLimits from "@startlist/http/OwnerLimits"
import type { HttpConfig } from "@startlist/http/HttpConfig"
import { redirect } from "@startlist/http/Http"
import { get } from "@startlist/http/Parameters"
import { Malformed, NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import type { Authentication } from "../../Authentication.ts"
import * as Page from "../Page.ts"
import * as Owner from "./Owner.tsx"
import type { SentDeliveries } from "./SentDeliveries.ts"
import { SigningView } from "./SecretViews.tsx"

/** The routes of signing secrets, subscriptions and test events. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  | Applications
  | Audit
  | Authentication
  | Deliveries
  | FailureLimit
  | HttpConfig
  | Secrets
  | SentDeliveries
  | Subscriptions
> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const applications = yield* Applications
  const { secretOverlap: overlap } = yield* Policy
  const owner = yield* Owner.make
  const { spend } = yield* OwnerLimits.make

  const pathOf = (id: string | undefined) => `${Owner.home}/${id}/signing-secret`

  const view = (
    context: Owner.ApplicationContext,
    status: number,
    { secrets }: SigningSecrets,
    shown: { readonly isShown?: boolean; readonly isRotated?: boolean; readonly isFull?: boolean } = {}
  ) =>
    Effect.map(
      DateTime.now,
      (now) => Page.html(status, SigningView({ context, secrets: live(secrets, now), overlap, ...shown }))
    )

  const show: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      pathOf(id),
      (context) =>
        applications.signingSecrets(context.application.id).pipe(
          Effect.flatMap((present) => view(context, 200, present)),
          Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())
        )
    )

  const act: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application } = context
        const number = Number(get(parameters, "number"))
        switch (get(parameters, "action")) {
          case "reveal":
            return yield* view(context, 200, yield* applications.signingSecrets(application.id), { isShown: true })
          case "rotate": {
            const rotation = { number, overlap: get(parameters, "end_now") === "true" ? Duration.zero : overlap }
            const rotated = yield* uninterrupted(Effect.tap(
              applications.rotateSigningSecret(application.id, rotation),
              owner.record(request, "signing_secret_rotated", context, application)
            ))
            return yield* view(context, 200, rotated, { isShown: true, isRotated: true })
          }
          default:
            return yield* new Malformed({ what: "action" })
        }
      }).pipe(Effect.catchTags({
        "@startlist/core/ApplicationNotFound": () => new NotFound(),
        "@startlist/core/SecretRefused": ({ reason }) =>
          Effect.gen(function*() {
            const present = yield* applications.signingSecrets(context.application.id)
            if (reason === "too_many") return yield* view(context, 409, present, { isFull: true })
            // A form that is sent twice has made the present secret, and has ended the others if it asked for that.
            const isDone = present.secrets[0]?.number === Number(get(parameters, "number")) &&
              (get(parameters, "end_now") !== "true" || present.secrets.length === 1)
            return isDone
              ? yield* view(context, 200, present, { isShown: true, isRotated: true })
              : owner.outdated(request, context)
          }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound()))
      })), pathOf(id))

  /** Ends a secret of either kind, and returns to `here`. If it has ended before, the form was sent twice. */
  const ending = (
    { action, end, here }: {
      readonly action: "secret_ended" | "signing_secret_ended"
      readonly end: (id: ApplicationId, number: number) => Applications.Changed<unknown>
      readonly here: (id: string | undefined) => string
    }
  ): Endpoint =>
  (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      uninterrupted(Effect.tap(
        end(context.application.id, Number(get(parameters, "number"))),
        owner.record(request, action, context, context.application)
      )).pipe(
        Effect.as(owner.done(context, context.frame.base + here(id), "secretEnded", context.application.name)),
        Effect.catchTags({
          "@startlist/core/ApplicationNotFound": () => new NotFound(),
          "@startlist/core/SecretRefused": ({ reason }) =>
            Effect.succeed(
              reason === "unknown" ? redirect(context.frame.base + here(id)) : owner.outdated(request, context)
            )
        })
      ), here(id))

  const test: Endpoint = (request, [id]) =>
    owner.withForm(
      request,
      id,
      (context) =>
        spend("delivery", context.application.ownerId, deliveries.sendTest(context.application.id)).pipe(
          Effect.map((delivery) =>
            redirect(`${Owner.pathOf(context.frame, context.application)}/deliveries/${delivery.id}`)
          ),
          Effect.catchTag("@startlist/core/SubscriptionNotFound", () => new NotFound())
        )
    )

  const { refuse } = owner
  return [
    { path: `${Owner.home}/{client_id}/signing-secret`, methods: { GET: show, POST: act }, refuse },
    {
      path: `${Owner.home}/{client_id}/secret/end`,
      methods: {
        POST: ending({ action: "secret_ended", end: applications.endSecret, here: (id) => `${Owner.home}/${id}` })
      },
      refuse
    },
    {
      path: `${Owner.home}/{client_id}/signing-secret/end`,
      methods: { POST: ending({ action: "signing_secret_ended", end: applications.endSigningSecret, here: pathOf }) },
      refuse
    },
    { path: `${Owner.home}/{client_id}/test-event`, methods: { POST: test }, refuse }
  ]
})
