/** Deliveries as they are counted: by their end, and by receiver for those that fail. */
import { expect, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Metric, MetricState, Option, Stream } from "effect"
import { type Application, type Delivery, DeliveryQueue, type Event, type Subscription } from "@startlist/core"
import * as Deliveries from "../src/metrics/Deliveries.ts"

/** The counts of ended deliveries that are not zero, by application. */
const counts = (state: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Metric.unsafeSnapshot().flatMap(({ metricKey: { name, tags }, metricState }) => {
      const labels = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
      return name === "startlist_deliveries_ended_total" && labels["state"] === state &&
          MetricState.isCounterState(metricState) && metricState.count > 0
        ? [[labels["application"], Number(metricState.count)]]
        : []
    })
  )

const now = DateTime.unsafeMake(0)

const ended = (application: number, state: Delivery.State): Delivery.Delivery => ({
  id: application as Delivery.DeliveryId,
  applicationId: application as Application.ApplicationId,
  subscriptionId: application as Subscription.SubscriptionId,
  event: {
    id: "evt_1" as Event.EventId,
    aspectType: "updated",
    objectType: "registration",
    objectId: 1,
    updates: {},
    time: now,
    trace: Option.none()
  },
  state,
  attempts: [{ at: now, durationMs: 1, outcome: "rejected", status: Option.none(), detail: "" }],
  dueAt: now,
  endedAt: Option.some(now)
})

const queue = DeliveryQueue.DeliveryQueue.of({
  claim: () => Effect.succeed([]),
  settle: (settlements) => Effect.succeed(settlements.map(({ delivery }) => delivery.id)),
  release: () => Effect.succeed([]),
  wakeUps: Stream.empty,
  enqueue: () => Effect.succeed([]),
  cancel: () => Effect.succeed(0),
  again: () => Effect.succeedNone
})

it.effect("an application has series of its own from its first failure on, 200 applications at most", () =>
  Effect.gen(function*() {
    const { settle } = yield* DeliveryQueue.DeliveryQueue
    const settleAll = (...deliveries: ReadonlyArray<Delivery.Delivery>) =>
      settle(deliveries.map((delivery) => ({ delivery, token: "claim" })))
    yield* settleAll(ended(7, "delivered"), ended(7, "exhausted"), ended(7, "delivered"), ended(8, "delivered"))
    expect([counts("delivered"), counts("exhausted")]).toEqual([{ 7: 1, other: 2 }, { 7: 1 }])
    yield* settleAll(...Array.from({ length: 250 }, (_, i) => ended(100 + i, "exhausted")))
    const failed = counts("exhausted")
    expect([Object.keys(failed).length, failed["298"], failed["299"], failed["other"]]).toEqual([201, 1, undefined, 51])
  }).pipe(Effect.provide(Deliveries.layerStores(Layer.succeed(DeliveryQueue.DeliveryQueue, queue)))))
