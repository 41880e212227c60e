/** `/developer/applications/{client_id}/…`: the signing secret of an application's subscription, and test events. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Deliveries } from "@startlist/core/Deliveries"
import { Policy } from "@startlist/core/Policy"
import { Conflict, type StoreError } from "@startlist/core/Store"
import type { Subscription } from "@startlist/core/Subscription"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { Applications } from "@startlist/core/Applications"
import { recorded } from "@startlist/http/Audit"
import * as Allowance from "@startlist/http/Allowance"
import { redirect, type Response } from "@startlist/http/Message"
import { get } from "@startlist/http/Parameters"
import { Malformed, NotFound, type Refusal } from "@startlist/http/Refusal"
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
  const subscriptions = yield* Subscriptions
  const { secretOverlap: overlap } = yield* Policy
  const owner = yield* Owner.make
  const spend = yield* Allowance.make

  const pathOf = (id: string | undefined) => `${Owner.home}/${id}/signing-secret`

  const withSubscription = (
    { application }: Owner.ApplicationContext,
    serve: (subscription: Subscription) => Effect.Effect<Response, Refusal | Conflict | StoreError>
  ) =>
    Effect.flatMap(
      subscriptions.findByApplication(application.id),
      Option.match({ onNone: () => new NotFound(), onSome: serve })
    )

  /** The secrets that sign now. */
  const live = (subscription: Subscription) =>
    Effect.map(
      DateTime.now,
      (now) =>
        subscription.signingSecrets.filter(({ expiresAt }) =>
          Option.match(expiresAt, { onNone: () => true, onSome: DateTime.greaterThan(now) })
        )
    )

  const show: Endpoint = (request, [id]) =>
    owner.withApplication(request, id, pathOf(id), (context) =>
      Effect.catchTag(
        withSubscription(
          context,
          (subscription) => Effect.succeed(Page.html(200, SigningView({ context, subscription, shown: [], overlap })))
        ),
        "Conflict",
        () => new NotFound()
      ))

  const reveal = (context: Owner.ApplicationContext, subscription: Subscription, isRotated: boolean) =>
    Effect.map(
      live(subscription),
      (shown) => Page.html(200, SigningView({ context, subscription, shown, isRotated, overlap }))
    )

  const act: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      pathOf(id),
      (context) =>
        owner.posted(request, context, (parameters) =>
          withSubscription(context, (subscription) =>
            Effect.gen(function*() {
              switch (get(parameters, "action")) {
                case "reveal":
                  return yield* reveal(context, subscription, false)
                case "rotate": {
                  if (get(parameters, "version") !== String(subscription.version)) {
                    return yield* new Conflict()
                  }
                  const rotated = yield* recorded(Effect.tap(
                    subscriptions.rotateSecret(context.application.id, subscription.version),
                    owner.record(request, "signing_secret_rotated", context, context.application)
                  )).pipe(Effect.catchTag("SubscriptionNotFound", () =>
                    new NotFound()))
                  return yield* reveal(context, rotated, true)
                }
                default:
                  return yield* new Malformed({ what: "action" })
              }
            })).pipe(Effect.catchTag("Conflict", () =>
              Effect.succeed(owner.outdated(request, context)))))
    )

  const test: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      `${Owner.home}/${id}`,
      (context) =>
        owner.posted(request, context, () =>
          spend("delivery", context.application.ownerId, deliveries.sendTest(context.application.id)).pipe(
            Effect.map((delivery) =>
              redirect(`${Owner.pathOf(context.frame, context.application)}/deliveries/${delivery.id}`)
            ),
            Effect.catchTag("SubscriptionNotFound", () =>
              new NotFound())
          ))
    )

  const { refuse } = owner
  return [
    { path: `${Owner.home}/{client_id}/signing-secret`, methods: { GET: show, POST: act }, refuse },
    { path: `${Owner.home}/{client_id}/test-event`, methods: { POST: test }, refuse }
  ]
})
