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
import type { Visitors } from "../../Visitors.ts"
import * as Page from "../Page.ts"
import * as Desk from "./Desk.ts"
import { SigningView } from "./SigningView.tsx"

export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | Deliveries | Subscriptions | Throttle | Visitors
> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const subscriptions = yield* Subscriptions
  const { secretOverlap: overlap } = yield* Policy
  const desk = yield* Desk.make
  const spend = yield* Allowance.make

  const pathOf = (id: string | undefined) => `${Desk.home}/${id}/signing-secret`

  const withSubscription = (
    { application }: Desk.OwnSeat,
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
    desk.own(request, id, pathOf(id), (seat) =>
      Effect.catchTag(
        withSubscription(
          seat,
          (subscription) => Effect.succeed(Page.html(200, SigningView({ seat, subscription, shown: [], overlap })))
        ),
        "Conflict",
        () => new NotFound()
      ))

  const reveal = (seat: Desk.OwnSeat, subscription: Subscription, isRotated: boolean) =>
    Effect.map(
      live(subscription),
      (shown) => Page.html(200, SigningView({ seat, subscription, shown, isRotated, overlap }))
    )

  const act: Endpoint = (request, [id]) =>
    desk.own(
      request,
      id,
      pathOf(id),
      (seat) =>
        desk.posted(request, seat, (parameters) =>
          withSubscription(seat, (subscription) =>
            Effect.gen(function*() {
              switch (get(parameters, "action")) {
                case "reveal":
                  return yield* reveal(seat, subscription, false)
                case "rotate": {
                  if (get(parameters, "version") !== String(subscription.version)) return yield* new Conflict()
                  const rotated = yield* recorded(Effect.tap(
                    subscriptions.rotateSecret(seat.application.id, subscription.version),
                    desk.record(request, "signing_secret_rotated", seat, seat.application)
                  )).pipe(Effect.catchTag("SubscriptionNotFound", () => new NotFound()))
                  return yield* reveal(seat, rotated, true)
                }
                default:
                  return yield* new Malformed({ what: "action" })
              }
            })).pipe(Effect.catchTag("Conflict", () => Effect.succeed(desk.outdated(request, seat)))))
    )

  const test: Endpoint = (request, [id]) =>
    desk.own(
      request,
      id,
      `${Desk.home}/${id}`,
      (seat) =>
        desk.posted(request, seat, () =>
          spend("delivery", seat.application.ownerId, deliveries.sendTest(seat.application.id)).pipe(
            Effect.map((delivery) =>
              redirect(`${Desk.pathOf(seat.frame, seat.application)}/deliveries/${delivery.id}`)
            ),
            Effect.catchTag("SubscriptionNotFound", () =>
              new NotFound())
          ))
    )

  const { refuse } = desk
  return [
    { path: `${Desk.home}/{client_id}/signing-secret`, methods: { GET: show, POST: act }, refuse },
    { path: `${Desk.home}/{client_id}/test-event`, methods: { POST: test }, refuse }
  ]
})
