/** `/developer/applications/{client_id}/deliveries`: what was sent to an application's callback, and what came of it. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Applications } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import { type Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { redirect } from "@startlist/http/Message"
import * as Allowance from "@startlist/http/Allowance"
import { get, readOnce } from "@startlist/http/Parameters"
import { NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { Throttle } from "@startlist/http/Throttle"
import type { Authentication } from "../../Authentication.ts"
import * as Page from "../Page.ts"
import { DeliveriesView, DeliveryView, listUrl } from "./DeliveriesView.tsx"
import * as Owner from "./Owner.ts"

const pageSize = 25

const decodeId = Schema.decodeUnknownOption(Schema.compose(Schema.NumberFromString, DeliveryId))
const decodeState = Schema.decodeUnknownOption(State)

export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | Deliveries | Subscriptions | Throttle | Authentication
> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const subscriptions = yield* Subscriptions
  const owner = yield* Owner.make
  const spend = yield* Allowance.make

  const list: Endpoint = (request, [id]) =>
    Effect.flatMap(readOnce(request), (parameters) => {
      const state = decodeState(get(parameters, "state"))
      const after = decodeId(get(parameters, "after"))
      const here = request.query === "" ? request.path : `${request.path}?${request.query}`
      return owner.withApplication(request, id, here, (context) =>
        Effect.gen(function*() {
          const applicationId = context.application.id
          const filter = { applicationId: Option.some(applicationId), state, after, limit: pageSize + 1 }
          const found = yield* deliveries.list(filter)
          const shown = found.slice(0, pageSize)
          const view = DeliveriesView({
            context,
            state,
            deliveries: shown,
            hours: yield* deliveries.lastDay(applicationId),
            isFirst: Option.isNone(after),
            next: found.length > pageSize
              ? Option.map(Option.fromNullable(shown.at(-1)), (last) => last.id)
              : Option.none()
          })
          return Page.html(200, view)
        }))
    })

  /** A delivery of this application; there is no other. */
  const find = (
    { application }: Owner.ApplicationContext,
    deliveryId: string | undefined
  ): Effect.Effect<Delivery, NotFound | StoreError> =>
    Effect.gen(function*() {
      const id = decodeId(deliveryId)
      if (Option.isNone(id)) return yield* new NotFound()
      const delivery = yield* Effect.catchTag(deliveries.find(id.value), "DeliveryNotFound", () => new NotFound())
      return delivery.applicationId === application.id ? delivery : yield* new NotFound()
    })

  const pathOf = (id: string | undefined, deliveryId: string | undefined) =>
    `${Owner.home}/${id}/deliveries/${deliveryId}`

  const one: Endpoint = (request, [id, deliveryId]) =>
    owner.withApplication(request, id, pathOf(id, deliveryId), (context) =>
      Effect.gen(function*() {
        const delivery = yield* find(context, deliveryId)
        const subscription = yield* subscriptions.findByApplication(context.application.id)
        const isRepeatable = Option.exists(subscription, (present) => present.id === delivery.subscriptionId)
        return Page.html(200, DeliveryView({ context, delivery, isRepeatable }))
      }))

  const redeliver: Endpoint = (request, [id, deliveryId]) =>
    owner.withApplication(
      request,
      id,
      pathOf(id, deliveryId),
      (context) =>
        owner.posted(request, context, () =>
          Effect.flatMap(find(context, deliveryId), (original) =>
            spend("delivery", context.application.ownerId, deliveries.redeliver(original.id))).pipe(
              Effect.map((again) =>
                redirect(`${listUrl(context, Option.none())}/${again.id}`)
              ),
              Effect.catchTags({
                DeliveryNotFound: () =>
                  new NotFound(),
                SubscriptionNotFound: () =>
                  new NotFound()
              })
            ))
    )

  const { refuse } = owner
  const path = `${Owner.home}/{client_id}/deliveries`
  return [
    { path, methods: { GET: list }, refuse },
    { path: `${path}/{delivery_id}`, methods: { GET: one }, refuse },
    { path: `${path}/{delivery_id}/redeliver`, methods: { POST: redeliver }, refuse }
  ]
})
