/** `/developer/applications/{client_id}/deliveries`: deliveries to an application's callback, and their outcomes. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ApplicationId, SigningSecrets } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import { type Delivery, DeliveryId, State } from "@startlist/core/Delivery"
import { body, toSeconds } from "@startlist/core/Event"
import type { Subscription } from "@startlist/core/Subscription"
import { DeliveryView, type Sent } from "./DeliveryView.tsx"
import { Applications } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import type { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { redirect } from "@startlist/http/Http"
import * as ApplicationLimits from "@startlist/http/ApplicationLimits"
import { get, readOnce } from "@startlist/http/Parameters"
import { NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import * as Page from "../Page.ts"
import { countLimit, type Counts, DeliveriesView, everything, listUrl, type Typed } from "./DeliveriesView.tsx"
import * as Owner from "./Owner.tsx"
import { SentDeliveries } from "./SentDeliveries.ts"

const utf8 = new TextEncoder()

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** `v1,` and the base64 of the HMAC-SHA-256 (Standard Webhooks). */
const sign = async (content: string, secret: Redacted.Redacted<string>): Promise<string> => {
  const bytes = fromBase64(Redacted.value(secret).replace(/^whsec_/, ""))
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  const signature = await crypto.subtle.sign("HMAC", key, utf8.encode(content))
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
}

/** The request with a fresh timestamp and the signatures of all live secrets. */
const sentNow = (
  { event }: Delivery,
  { callbackUrl, id }: Subscription,
  { secrets }: SigningSecrets
): Effect.Effect<Sent> =>
  Effect.gen(function*() {
    const now = yield* DateTime.now
    const text = body(event, id)
    const timestamp = String(toSeconds(now))
    const signatures = yield* Effect.promise(() =>
      Promise.all(
        live(secrets, now).map(({ value }) => sign(`${event.id}.${timestamp}.${text}`, value))
      )
    )
    return {
      callbackUrl,
      body: text,
      headers: [
        ["content-type", "application/json"],
        ["webhook-id", event.id],
        ["webhook-timestamp", timestamp],
        ["webhook-signature", signatures.join(" ")],
        ["startlist-sequence", String(event.sequence)]
      ]
    }
  })

const pageSize = 25

const decodeId = Schema.decodeUnknownOption(Schema.compose(Schema.NumberFromString, DeliveryId))
const decodeState = Schema.decodeUnknownOption(State)

/** Date and time in UTC, in the formats of browsers and of people. */
const instant = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)Z?$/

const parseInstant = (typed: string): Option.Option<DateTime.Utc> => {
  const [, date, time] = instant.exec(typed.trim()) ?? []
  return date === undefined ? Option.none() : DateTime.make(`${date}T${time}Z`)
}

/** The routes of the page of deliveries, and of its forms. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Owner.Services | Deliveries | FailureLimit
> = Effect.gen(function*() {
  const applications = yield* Applications
  const deliveries = yield* Deliveries
  const sent = yield* SentDeliveries
  const subscriptions = yield* Subscriptions
  const owner = yield* Owner.make
  const { spend } = yield* ApplicationLimits.make

  const countOf = (applicationId: ApplicationId, state: State) =>
    Effect.map(
      deliveries.list({
        applicationId: Option.some(applicationId),
        state: Option.some(state),
        after: Option.none(),
        limit: countLimit
      }),
      ({ length }) => length
    )

  const countsOf = (id: ApplicationId): Effect.Effect<Counts, StoreError> =>
    Effect.all({
      pending: countOf(id, "pending"),
      exhausted: countOf(id, "exhausted"),
      set_aside: countOf(id, "set_aside")
    }, { concurrency: "unbounded" })

  const showList = (
    context: Owner.ApplicationContext,
    typed: Typed,
    shown: {
      readonly after?: Option.Option<DeliveryId>
      readonly failedSince?: string
    } = {}
  ) =>
    Effect.gen(function*() {
      const { after = Option.none(), failedSince } = shown
      const applicationId = context.application.id
      const found = yield* sent.search(context.application, {
        state: decodeState(typed.state),
        text: Option.filter(Option.some(typed.text.trim()), (text) => text !== ""),
        since: parseInstant(typed.since),
        until: parseInstant(typed.until),
        after,
        limit: pageSize
      })
      const view = DeliveriesView({
        context,
        typed,
        failedSince,
        deliveries: found.deliveries,
        repeats: yield* deliveries.repeats(found.deliveries),
        counts: yield* countsOf(applicationId),
        isFirst: Option.isNone(after),
        isRepeatable: Option.isSome(yield* subscriptions.findByApplication(applicationId)),
        next: found.next
      })
      return Page.html(failedSince === undefined ? 200 : 422, view)
    })

  const list: Endpoint = (request, [id]) =>
    Effect.flatMap(readOnce(request), (parameters) => {
      const given = (name: string) => get(parameters, name) ?? ""
      const typed = {
        state: Option.getOrElse(decodeState(given("state")), () => ""),
        text: given("text"),
        since: given("since"),
        until: given("until")
      }
      const here = request.query === "" ? request.path : `${request.path}?${request.query}`
      return owner.withApplication(request, id, here, (context) =>
        showList(context, typed, { after: decodeId(given("after")) }))
    })

  const redeliverFailed: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const typed = get(parameters, "failed_since") ?? ""
        const since = parseInstant(typed)
        if (Option.isNone(since)) return yield* showList(context, everything, { failedSince: typed })
        const { id, ownerId } = context.application
        const count = yield* spend("backlog", ownerId, sent.redeliverFailed(id, since.value))
        return owner.done(context, listUrl(context), "redelivered", String(count))
      }), `${Owner.home}/${id}/deliveries`)

  /** Finds a delivery of this application. */
  const find = (
    { application }: Owner.ApplicationContext,
    deliveryId: string | undefined
  ): Effect.Effect<Delivery, NotFound | StoreError> =>
    Effect.gen(function*() {
      const id = decodeId(deliveryId)
      if (Option.isNone(id)) return yield* new NotFound()
      const delivery = yield* Effect.catchTag(deliveries.find(id.value), "@startlist/core/DeliveryNotFound", () =>
        new NotFound())
      return delivery.applicationId === application.id ? delivery : yield* new NotFound()
    })

  const pathOf = (id: string | undefined, deliveryId: string | undefined) =>
    `${Owner.home}/${id}/deliveries/${deliveryId}`

  const one: Endpoint = (request, [id, deliveryId]) =>
    owner.withApplication(request, id, pathOf(id, deliveryId), (context) =>
      Effect.gen(function*() {
        const delivery = yield* find(context, deliveryId)
        const { id: applicationId } = context.application
        const subscription = Option.filter(
          yield* subscriptions.findByApplication(applicationId),
          (present) => present.id === delivery.subscriptionId
        )
        const signed = Option.isSome(subscription)
          ? Option.some(yield* sentNow(delivery, subscription.value, yield* applications.signingSecrets(applicationId)))
          : Option.none()
        const repeat = (yield* deliveries.repeats([delivery])).get(delivery.id)
        const waiting = yield* sent.waiting(delivery, context.application, subscription)
        return Page.html(200, DeliveryView({ context, delivery, repeat, sent: signed, waiting }))
      }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())))

  const redeliver: Endpoint = (request, [id, deliveryId]) =>
    owner.withForm(
      request,
      id,
      (context) =>
        Effect.flatMap(
          find(context, deliveryId),
          (original) => spend("delivery", context.application.ownerId, deliveries.redeliver(original.id))
        ).pipe(
          Effect.map((again) => redirect(`${listUrl(context)}/${again.id}`)),
          Effect.catchTags({
            "@startlist/core/DeliveryNotFound": () => new NotFound(),
            "@startlist/core/SubscriptionNotFound": () => Effect.succeed(owner.outdated(request, context))
          })
        ),
      pathOf(id, deliveryId)
    )

  const { refuse } = owner
  const path = `${Owner.home}/{client_id}/deliveries`
  return [
    { path, methods: { GET: list }, refuse },
    { path: `${Owner.home}/{client_id}/redeliver`, methods: { POST: redeliverFailed }, refuse },
    { path: `${path}/{delivery_id}`, methods: { GET: one }, refuse },
    { path: `${path}/{delivery_id}/redeliver`, methods: { POST: redeliver }, refuse }
  ]
})
