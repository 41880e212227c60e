/** Metrics of deliveries: by final state, and by receiver for those that fail. */
import { expect, it } from "@effect/vitest"
import { DateTime, Metric, MetricState, Option } from "effect"
import { type Application, Audit, type Delivery, type Event, type Subscription } from "@startlist/core"
import { count } from "../src/telemetry/Counters.ts"

/** Identifiers above this one belong to this test: other tests in the process use the same series. */
const own = 1_000_000

/** The number of ended deliveries by application, for the applications of this test and for all others together. */
const counts = (state: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Metric.unsafeSnapshot().flatMap(({ metricKey: { name, tags }, metricState }) => {
      const labels = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
      return name === "startlist_deliveries_ended_total" && labels["state"] === state &&
          MetricState.isCounterState(metricState) &&
          metricState.count > 0 &&
          (labels["application"] === "other" || Number(labels["application"]) > own)
        ? [[labels["application"], Number(metricState.count)]]
        : []
    })
  )

/** Number of applications with their own series, including those of other tests. */
const applications = (): number =>
  new Set(
    Metric.unsafeSnapshot().flatMap(({ metricKey: { name, tags } }) => {
      const application = tags.find(({ key }) => key === "application")?.value ?? "other"
      return name === "startlist_deliveries_ended_total" && application !== "other" ? [application] : []
    })
  ).size

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
    sequence: 1,
    trace: Option.none()
  },
  state,
  attempts: [{ at: now, durationMs: 1, outcome: "rejected", status: Option.none(), detail: "" }],
  dueAt: now,
  endedAt: Option.some(now)
})

it("an application has its own series after its first failure, at most 200 applications", () => {
  const settleAll = (...deliveries: ReadonlyArray<Delivery.Delivery>) =>
    deliveries.forEach((delivery) => count(Audit.Entry.DeliverySettled({ delivery })))
  const { other: before = 0 } = counts("delivered")
  const { other: failedBefore = 0 } = counts("exhausted")
  const [failing, delivering] = [own + 7, own + 8]
  settleAll(
    ended(failing, "delivered"),
    ended(failing, "exhausted"),
    ended(failing, "delivered"),
    ended(delivering, "delivered")
  )
  expect(counts("delivered")).toEqual({ [failing]: 1, other: before + 2 })
  expect(counts("exhausted")[failing]).toBe(1)
  const seriesBefore = applications()
  settleAll(...Array.from({ length: 250 }, (_, i) => ended(own + 100 + i, "exhausted")))
  const room = 200 - seriesBefore
  const failed = counts("exhausted")
  expect(applications()).toBe(200)
  expect([failed[own + 99 + room], failed[own + 100 + room]]).toEqual([1, undefined])
  expect(failed["other"]).toBe(failedBefore + 250 - room)
})
